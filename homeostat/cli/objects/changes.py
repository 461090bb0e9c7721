"""List and watch, for commands that follow objects.

A watch that ends is resumed at its last resource version. If the server has compacted that version, the objects are
listed again and compared with those known before.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final

from homeostat.cli.objects.follow import REOPEN_S
from homeostat.cli.objects.kinds import with_type_meta
from homeostat.client.base import Client, Event
from homeostat.objects.errors import ExpiredError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind

_WATCH_S: Final = 300


async def changes_of(client: Client, path: str, **query: str) -> AsyncGenerator[Event, None]:
    """ADDED, MODIFIED and DELETED; objects of the first list are ADDED."""
    known: dict[tuple[str, str], JsonObject] = {}
    while True:
        items, revision = await client.list(path, **query)
        found = {_key(item): item for item in items}
        for gone in known.keys() - found.keys():
            yield Event("DELETED", known[gone])
        for key, item in found.items():
            yield Event("MODIFIED" if key in known else "ADDED", item)
        known = found
        try:
            async with aclosing(_watched(client, path, revision, query)) as events:
                async for event in events:
                    if event.type == "DELETED":
                        known.pop(_key(event.obj), None)
                    else:
                        known[_key(event.obj)] = event.obj
                    yield event
        except ExpiredError:
            continue


async def objects_of(
    client: Client, kind: Kind, namespace: str, *, name: str = "", missing: Callable[[], Exception]
) -> AsyncGenerator[Event, None]:
    """The changes of a kind, or of one object of it, each with apiVersion and kind. `missing` makes the error to raise
    if the server does not serve the kind.
    """
    query = {"fieldSelector": f"metadata.name={name}"} if name else {}
    try:
        async with aclosing(changes_of(client, kind.path(namespace), **query)) as events:
            async for event in events:
                yield Event(event.type, with_type_meta(kind, event.obj))
    except NotFoundError as error:
        raise missing() from error


async def versions_of(client: Client, kind: Kind, namespace: str, name: str) -> AsyncGenerator[JsonObject | None, None]:
    """The object now and after every change; None while it does not exist."""
    path, query = kind.path(namespace), {"fieldSelector": f"metadata.name={name}"}
    while True:
        items, revision = await client.list(path, **query)
        yield items[0] if items else None
        try:
            async with aclosing(_watched(client, path, revision, query)) as events:
                async for event in events:
                    yield None if event.type == "DELETED" else event.obj
        except ExpiredError:
            continue


async def _watched(client: Client, path: str, revision: str, query: dict[str, str]) -> AsyncGenerator[Event, None]:
    while True:
        async for event in client.watch(
            path, resourceVersion=revision, allowWatchBookmarks="true", timeoutSeconds=_WATCH_S, **query
        ):
            revision = event.obj["metadata"]["resourceVersion"]
            if event.type != "BOOKMARK":
                yield event
        # A server that ends every watch at once must not be flooded with requests.
        await asyncio.sleep(REOPEN_S)


def _key(obj: JsonObject) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]
