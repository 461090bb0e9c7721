"""Migrates resources to the current storage version, so that a former storage version can be removed.

A server refuses to remove a version that is listed in `status.storedVersions`. An empty patch stores an object in the
current version; after all objects are patched, `storedVersions` is updated. An interrupted migration starts over, which
is harmless. If the definition changes meanwhile, `storedVersions` is not updated. Resources that were deleted or
written by somebody else meanwhile need no migration.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from homeostat.client.base import Client
from homeostat.objects.errors import ConflictError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEFINITION
from homeostat.operators.actions.types.resources import Live

_AT_ONCE = 16
"""Concurrent writes; they share commits."""


def storage_version(definition: JsonObject) -> str:
    return next((each["name"] for each in definition["spec"]["versions"] if each.get("storage")), "")


async def migrate(client: Client, definition: JsonObject) -> None:
    """`definition` is the one on the server. Afterwards only its storage version is in `storedVersions`."""
    spec, version = definition["spec"], storage_version(definition)
    root = f"/apis/{spec['group']}/{version}/namespaces"
    places = [
        f"{root}/{each['metadata']['namespace']}/{spec['names']['plural']}/{each['metadata']['name']}"
        async for page in Live(client).pages(definition)
        for each in page.items
    ]
    for at in range(0, len(places), _AT_ONCE):
        async with asyncio.TaskGroup() as tasks:
            for each in places[at : at + _AT_ONCE]:
                tasks.create_task(_rewrite(client, each))
    await _update_stored_versions(client, definition, version)


async def _rewrite(client: Client, place: str) -> None:
    # Any other writer stores the resource in the current version too.
    with suppress(NotFoundError, ConflictError):
        await client.merge(place, {})


async def _update_stored_versions(client: Client, definition: JsonObject, version: str) -> None:
    name = definition["metadata"]["name"]
    now = await client.get(DEFINITION.path("", name))
    if now["metadata"].get("generation") != definition["metadata"].get("generation"):
        raise ConflictError(f'the definition "{name}" changed while its resources were migrated')
    guarded = {"resourceVersion": now["metadata"]["resourceVersion"]}
    path = f"{DEFINITION.path('', name)}/status"
    await client.merge(path, {"metadata": guarded, "status": {"storedVersions": [version]}})
