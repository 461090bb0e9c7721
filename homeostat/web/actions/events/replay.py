"""Replays the changes of a kind's resources since a revision, from the server's history.

    async for step in replay(client, index, kind, since=1240): ...

It does not end by itself: after the history it continues with new changes. A broken watch is resumed. It raises
`LostError` if the history does not go back far enough.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError, ExpiredError, NotFoundError, TimedOutError, error_of
from homeostat.objects.kind import Kind
from homeostat.runtime.cache.decoding import (
    Added,
    Bookmark,
    Deleted,
    GarbledError,
    Modified,
    Projection,
    Refused,
    UnreadableObject,
)
from homeostat.web.actions.events.feed import Step, frames_of
from homeostat.web.actions.index.changes import IndexedResource
from homeostat.web.actions.index.entry import Entry
from homeostat.web.actions.index.index import ResourceIndex

_AGAIN_AFTER_S: Final = 0.5
_ATTEMPTS: Final = 20
_GONE = (ExpiredError, TimedOutError, NotFoundError)


class LostError(Exception):
    """The server no longer has the history."""


async def replay(
    client: Client, index: ResourceIndex, kind: Kind, *, since: int, name: str = ""
) -> AsyncGenerator[Step, None]:
    """With `name`, only of the resource with this name."""
    if since <= 0:
        raise LostError("the starting point is unknown")
    log = _Log(client, index, kind, since, name)
    failures = 0
    while True:
        try:
            async with aclosing(log.read()) as steps:
                async for step in steps:
                    failures = 0
                    yield step
        except _GONE as error:
            raise LostError(str(error)) from error
        except (ApiError, UnreachableError, GarbledError) as error:
            failures += 1
            if failures >= _ATTEMPTS:
                raise LostError(str(error)) from error
        await asyncio.sleep(_AGAIN_AFTER_S)


class _Log:
    def __init__(self, client: Client, index: ResourceIndex, kind: Kind, since: int, name: str) -> None:
        self._client, self._index, self._kind, self._since = client, index, kind, since
        self._path = kind.path(index.namespace)
        self._selector = f"metadata.name={name}" if name else ""
        self._projection = Projection(Entry)
        self._seen: dict[str, Entry] = {}

    async def read(self) -> AsyncGenerator[Step, None]:
        query: dict[str, Any] = {
            "resourceVersion": self._since,
            "allowWatchBookmarks": "true",
            "fieldSelector": self._selector,
        }
        async with aclosing(self._client.lines(self._path, **query)) as lines:
            async for line in lines:
                match self._projection.event(line):
                    case Added(object=entry):
                        yield self._step(None, entry)
                    case Modified(object=entry):
                        yield self._step(await self._before(entry), entry)
                    case Deleted(object=entry):
                        yield self._step(entry, None)
                    case Bookmark() as mark:
                        yield self._passed(mark.version)
                    case UnreadableObject() as incompatible:
                        yield self._passed(incompatible.version)
                    case Refused(object=status):
                        raise error_of(status)

    def _passed(self, revision: int) -> Step:
        self._since = max(self._since, revision)
        return Step(self._kind.kind, revision)

    def _step(self, old: Entry | None, new: Entry | None) -> Step:
        entry = new or old
        assert entry is not None
        if new is not None:
            self._seen[new.metadata.name] = new
        else:
            self._seen.pop(entry.metadata.name, None)
        passed = self._passed(int(entry.metadata.resource_version))
        frames = frames_of(self._index, IndexedResource(self._kind, entry), old, new)
        return Step(passed.kind, passed.revision, frames)

    async def _before(self, entry: Entry) -> Entry | None:
        """Returns the resource before this change."""
        metadata = entry.metadata
        if (seen := self._seen.get(metadata.name)) is not None:
            return seen
        query = {
            "fieldSelector": f"metadata.name={metadata.name}",
            "resourceVersion": int(metadata.resource_version) - 1,
            "resourceVersionMatch": "Exact",
        }
        objects = self._projection.page(await self._client.fetch("GET", self._path, query)).objects
        return objects[0] if objects else None
