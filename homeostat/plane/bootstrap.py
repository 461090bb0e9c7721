"""Creates what every plane has, and brings the default roles and bindings up to date, at each start.

Missing objects are written to the store together, in one commit. A role or binding that is as this version creates it
costs a comparison of its bytes; another one is compared with its default, and changed by a request if it lacks
something.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING

from homeostat.client.base import Client
from homeostat.objects.crd.user_roles import UserRules, user_roles
from homeostat.objects.errors import AlreadyExistsError, ConflictError, NotFoundError
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.access.rbac.authorizer import GROUP
from homeostat.server.access.rbac.default_roles import brought_up_to_date, default_roles
from homeostat.server.bootstrap import first_records
from homeostat.server.uid import new_uid
from homeostat.store.base import Key, Put, Record, RevisionMismatchError, Store

if TYPE_CHECKING:
    from homeostat.runtime.description import Description


async def bootstrap(store: Store, client: Client) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    found = first_records(store.get, now=now, new_uid=new_uid)
    # Decided before the creations: only a role that was there already may lack something.
    updates = _updates(store, client, found.changed)
    await asyncio.gather(*(_create_record(store, each) for each in found.missing))
    await asyncio.gather(*updates)


async def bootstrap_user_roles(store: Store, client: Client, operators: Iterable[Description]) -> None:
    """The ClusterRoles that let holders of `view`, `edit` and `admin` work with the kinds of these operators."""
    rules = [each.user_rules for each in operators]
    view, edit = (tuple(chain.from_iterable(getattr(each, level) for each in rules)) for level in ("view", "edit"))
    await asyncio.gather(*(_ensure(store, client, role) for role in user_roles("homeostat", UserRules(view, edit))))


async def _ensure(store: Store, client: Client, role: JsonObject) -> None:
    key = Key(f"clusterroles.{GROUP}", "", role["metadata"]["name"])
    if store.get(key) is None:
        await _create(client, f"/apis/{GROUP}/v1/clusterroles", role)
    elif (update := _update_of(store, client, role, among=frozenset({key}))) is not None:
        await update


def _updates(store: Store, client: Client, changed: frozenset[Key]) -> list[Coroutine[None, None, None]]:
    """Of the roles and bindings among these."""
    if not any(key.resource.endswith(GROUP) for key in changed):
        return []
    return [each for role in default_roles() if (each := _update_of(store, client, role, among=changed)) is not None]


async def _create_record(store: Store, put: Put) -> None:
    # Another replica may be faster.
    with suppress(RevisionMismatchError):
        await store.write(put)


def _update_of(
    store: Store, client: Client, default: JsonObject, *, among: frozenset[Key]
) -> Coroutine[None, None, None] | None:
    """The request that changes a default role or binding; None if it is not among the keys or lacks nothing."""
    metadata, plural = default["metadata"], f"{default['kind'].lower()}s"
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    key = Key(f"{plural}.{GROUP}", namespace, name)
    record: Record | None = store.get(key) if key in among else None
    if record is None:
        return None
    found = brought_up_to_date(decode_stored(record.value), default)
    if found is None:
        return None
    path = f"/apis/{GROUP}/v1/{f'namespaces/{namespace}/' if namespace else ''}{plural}"
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
