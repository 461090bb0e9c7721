"""Creates what every plane has, and brings the default roles and bindings up to date, at each start.

Roles come after the namespaces of some of them. A role or binding that lacks nothing costs a read of the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress

from homeostat.client.base import Client
from homeostat.objects.errors import AlreadyExistsError, ConflictError, NotFoundError
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.access.rbac import GROUP
from homeostat.server.access.roles import brought_up_to_date, default_roles
from homeostat.server.bootstrap import first_objects
from homeostat.store.base import Key, Store


async def bootstrap(store: Store, client: Client) -> None:
    await asyncio.gather(*(_create(client, path, obj) for path, obj in first_objects()))
    written = (_write(store, client, role) for role in default_roles())
    await asyncio.gather(*(each for each in written if each is not None))


def _write(store: Store, client: Client, default: JsonObject) -> Coroutine[None, None, None] | None:
    """What is to be written for a default role or binding; None if it lacks nothing."""
    metadata, plural = default["metadata"], f"{default['kind'].lower()}s"
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    path = f"/apis/{GROUP}/v1/{f'namespaces/{namespace}/' if namespace else ''}{plural}"
    record = store.get(Key(f"{plural}.{GROUP}", namespace, name))
    if record is None:
        return _create(client, path, default)
    found = brought_up_to_date(decode_stored(record.value), default)
    if found is None:
        return None
    return _replace(client, path, found) if found is default else _update(client, f"{path}/{name}", found)


async def _create(client: Client, path: str, obj: JsonObject) -> None:
    with suppress(AlreadyExistsError):
        await client.create(path, obj)


async def _update(client: Client, path: str, obj: JsonObject) -> None:
    # Another replica, or a user, may be faster; the next start compares again.
    with suppress(ConflictError, NotFoundError):
        await client.update(path, obj)


async def _replace(client: Client, collection: str, obj: JsonObject) -> None:
    """A binding's role cannot be changed, so another binding takes its place."""
    with suppress(NotFoundError):
        await client.delete(f"{collection}/{obj['metadata']['name']}")
    await _create(client, collection, obj)
