"""The Events of the operators' objects, newest first: what changed last, over all operators.

One watch of Events, which begins when somebody first looks, and is read with the permissions of this server; so only
visitors who may list all Events see it. Events about other objects are dropped as they arrive, and of the operators'
the newest are kept: a cluster has tens of thousands of Events. What is shown is computed again only after a change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from heapq import nlargest
from typing import Final, Never

import msgspec

from homeostat.client.base import Client
from homeostat.objects.kind import Kind
from homeostat.runtime.cache.cache import Change as Changed
from homeostat.runtime.cache.decoding import Projection, UnreadableObject, name_of, version_of
from homeostat.runtime.watch.source import Source
from homeostat.runtime.watch.watcher import Watcher
from homeostat.web.dashboard.home.report import Change

EVENTS: Final = Kind("", "v1", "events", "Event", is_namespaced=True)
MOST_SHOWN: Final = 15
MOST_KEPT: Final = 2000
"""Events in memory."""
_SPARE: Final = 500
"""Events above that number until the oldest are dropped, so that not each new one costs a walk over all."""
_MOST_READ: Final = 200
_READY_WITHIN_S: Final = 0.5
PathOf = Callable[[str, str, str, str], Awaitable[str]]
"""From apiVersion, kind, namespace and name to the page of the object; empty if there is none."""


class _Metadata(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = ""


class _Regarding(msgspec.Struct, frozen=True, rename="camel", gc=False):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]


class _Series(msgspec.Struct, frozen=True, rename="camel", gc=False):
    last_observed_time: str | None = None


class RecordedEvent(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The fields of an Event in its older form that the timeline shows."""

    metadata: _Metadata
    involved_object: _Regarding = _Regarding()
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    series: _Series | None = None

    @property
    def at(self) -> str:
        last = self.series.last_observed_time if self.series is not None else None
        return last or self.last_timestamp or self.event_time or self.metadata.creation_timestamp or ""


class KeptEvents:
    """The sink of the watch: the newest Events about objects of `groups`. `changes` counts what has changed in it."""

    def __init__(self, groups: Collection[str], most: int = MOST_KEPT) -> None:
        self._groups, self._most = frozenset(groups), most
        self._events: dict[tuple[str, str], RecordedEvent] = {}
        self.version = 0
        self.changes = 0

    def __len__(self) -> int:
        return len(self._events)

    def newest(self, most: int, namespace: str = "") -> list[RecordedEvent]:
        events = self._events.values()
        found = (each for each in events if namespace in ("", each.involved_object.namespace))
        return nlargest(most, found, key=_order)

    def listing(self) -> _Listing:
        return _Listing(self, KeptEvents(self._groups, self._most))

    def put(self, obj: RecordedEvent) -> Changed[RecordedEvent] | None:
        self.version = max(self.version, version_of(obj))
        if obj.involved_object.group not in self._groups:
            return None
        self._events[name_of(obj)] = obj
        self.changes += 1
        if len(self._events) > self._most + _SPARE:
            self._keep(self.newest(self._most))
        return None

    def remove(self, obj: RecordedEvent) -> Changed[RecordedEvent] | None:
        self.version = max(self.version, version_of(obj))
        if self._events.pop(name_of(obj), None) is not None:
            self.changes += 1
        return None

    def leave_out(self, unreadable: UnreadableObject) -> Changed[RecordedEvent] | None:
        self.version = max(self.version, unreadable.version)
        return None

    def advance(self, version: int) -> None:
        self.version = max(self.version, version)

    def replace(self, events: KeptEvents, version: int) -> None:
        self._keep(events._events.values())
        self.version = version
        self.changes += 1

    def _keep(self, events: Iterable[RecordedEvent]) -> None:
        self._events = {name_of(each): each for each in events}


class _Listing:
    """A list that is being received."""

    def __init__(self, into: KeptEvents, found: KeptEvents) -> None:
        self._into, self._found = into, found

    def put(self, obj: RecordedEvent) -> None:
        self._found.put(obj)

    def leave_out(self, unreadable: UnreadableObject) -> None:
        """It is not shown."""

    def swap(self, version: int) -> list[Changed[RecordedEvent]]:
        self._into.replace(self._found, version)
        return []


class Timeline:
    """`groups` are the API groups of the operators' objects, and `within` is the only namespace to read; empty for all.
    `run` is a background task.
    """

    def __init__(self, client: Client, groups: Collection[str], path_of: PathOf, within: str = "") -> None:
        self._path_of = path_of
        self._kept, self._wanted = KeptEvents(groups), asyncio.Event()
        source = Source(EVENTS.path(within))
        self._watcher: Watcher[RecordedEvent] = Watcher(client, source, Projection(RecordedEvent), writer=self._kept)
        self._shown: tuple[int, list[Change]] = (-1, [])

    async def run(self) -> Never:
        await self._wanted.wait()
        await self._watcher.run()

    async def newest(self, namespace: str = "") -> list[Change]:
        """Events that say the same of several objects of a kind are one entry. Empty for all namespaces."""
        self._wanted.set()
        if not self._watcher.synced.is_set():
            try:
                async with asyncio.timeout(_READY_WITHIN_S):
                    await self._watcher.synced.wait()
            except TimeoutError:
                return []
        if namespace:
            return await self._changes(namespace)
        seen = self._kept.changes
        if self._shown[0] != seen:
            self._shown = seen, await self._changes()
        return self._shown[1]

    async def _changes(self, namespace: str = "") -> list[Change]:
        groups: dict[tuple[str, str, str], list[RecordedEvent]] = {}
        for each in self._kept.newest(_MOST_READ, namespace):
            groups.setdefault((each.involved_object.kind, each.reason, each.message), []).append(each)
        return [await self._change(each) for each in list(groups.values())[:MOST_SHOWN]]

    async def _change(self, events: Sequence[RecordedEvent]) -> Change:
        event, about = events[0], events[0].involved_object
        others = len({each.involved_object for each in events}) - 1
        path = await self._path_of(about.api_version, about.kind, about.namespace, about.name)
        times = f" (x{event.count})" if event.count and event.count > 1 else ""
        text = f"{event.reason}{times}: {event.message}" if event.message else f"{event.reason}{times}"
        name = f"{about.kind} {about.namespace}/{about.name}" if about.namespace else f"{about.kind} {about.name}"
        name = f"{name} and {others} more" if others else name
        return Change(name, path, text, event.at, "bad" if event.type == "Warning" else "plain")


def _order(event: RecordedEvent) -> tuple[str, str]:
    return event.at, event.metadata.uid
