"""Moves resources to the version that is stored now, so that a version that was stored once can go.

A server does not let a version go while its definition says that objects may still be stored in it. Writing an object
as it is stores it anew; when all are, the definition is told so. What is interrupted is done over, and harms nothing;
a definition that changed meanwhile is told nothing; a resource that is gone, or that somebody else wrote meanwhile,
needs nothing more.
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
"""Writes under way together, so that they share commits."""


def storage_version(definition: JsonObject) -> str:
    return next((each["name"] for each in definition["spec"]["versions"] if each.get("storage")), "")


async def migrate(client: Client, definition: JsonObject) -> None:
    """`definition` is as the server has it; afterwards only its storage version counts as stored."""
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
    await _tell(client, definition, version)


async def _rewrite(client: Client, place: str) -> None:
    # Who comes in between writes it in the version that is stored now.
    with suppress(NotFoundError, ConflictError):
        await client.merge(place, {})


async def _tell(client: Client, definition: JsonObject, version: str) -> None:
    name = definition["metadata"]["name"]
    now = await client.get(DEFINITION.path("", name))
    if now["metadata"].get("generation") != definition["metadata"].get("generation"):
        raise ConflictError(f'the definition "{name}" changed while its resources were migrated')
    guarded = {"resourceVersion": now["metadata"]["resourceVersion"]}
    path = f"{DEFINITION.path('', name)}/status"
    await client.merge(path, {"metadata": guarded, "status": {"storedVersions": [version]}})
