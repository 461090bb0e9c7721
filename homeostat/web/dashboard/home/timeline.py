"""The Events of the operators' objects, newest first: what changed last, over all operators.

One watch of Events, which begins when somebody first looks, and is read with the permissions of this server; so a
visitor sees those of the namespaces whose Events the visitor may list. Events about other objects are dropped as they
arrive, and of the operators' the newest are kept: a cluster has tens of thousands of Events. What is shown is computed
again only after a change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Final, Never

import msgspec

from homeostat.client.base import Client
from homeostat.objects.kind import Kind
from homeostat.runtime.cache.decoding import Projection
from homeostat.runtime.watch.source import Source
from homeostat.runtime.watch.watcher import Watcher
from homeostat.web.dashboard.home.report import Change
from homeostat.web.dashboard.visit import Scope, is_in
from homeostat.web.kit.newest import Newest

EVENTS: Final = Kind("", "v1", "events", "Event", is_namespaced=True)
MOST_SHOWN: Final = 15
MOST_KEPT: Final = 2000
"""Events in memory."""
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


def kept_events(groups: Collection[str], most: int = MOST_KEPT) -> Newest[RecordedEvent]:
    """The newest Events about objects of `groups`."""
    own = frozenset(groups)
    return Newest(most, order=_order, accepts=lambda event: event.involved_object.group in own)


class Timeline:
    """`groups` are the API groups of the operators' objects, and `within` is the only namespace to read; empty for all.
    `run` is a background task.
    """

    def __init__(self, client: Client, groups: Collection[str], path_of: PathOf, within: str = "") -> None:
        self._path_of = path_of
        self._kept, self._wanted = kept_events(groups), asyncio.Event()
        source = Source(EVENTS.path(within))
        self._watcher: Watcher[RecordedEvent] = Watcher(client, source, Projection(RecordedEvent), writer=self._kept)
        self._shown: tuple[int, list[Change]] = (-1, [])

    async def run(self) -> Never:
        await self._wanted.wait()
        await self._watcher.run()

    async def newest(self, scope: Scope = None) -> list[Change]:
        """Events that say the same of several objects of a kind are one entry."""
        self._wanted.set()
        if not self._watcher.synced.is_set():
            try:
                async with asyncio.timeout(_READY_WITHIN_S):
                    await self._watcher.synced.wait()
            except TimeoutError:
                return []
        if scope is not None:
            return await self._changes(scope)
        seen = self._kept.changes
        if self._shown[0] != seen:
            self._shown = seen, await self._changes()
        return self._shown[1]

    async def _changes(self, scope: Scope = None) -> list[Change]:
        groups: dict[tuple[str, str, str], list[RecordedEvent]] = {}
        among = (each for each in self._kept if is_in(scope, each.involved_object.namespace))
        for each in self._kept.first(_MOST_READ, among):
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
