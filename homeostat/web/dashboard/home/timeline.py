"""The Events of the operators' objects, newest first: what changed last, over all operators.

One watch of Events, which begins when somebody first looks, and is read with the permissions of this server; so only
visitors who may list all Events see it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from heapq import nlargest
from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.objects.kind import Kind
from homeostat.runtime.cache.informer import Informer, Informers
from homeostat.runtime.watch.source import Source
from homeostat.web.dashboard.home.report import Change

EVENTS: Final = Kind("", "v1", "events", "Event", is_namespaced=True)
MOST_SHOWN: Final = 15
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


class Timeline:
    """`groups` are the API groups of the operators' objects. `run` is a background task."""

    def __init__(self, client: Client, groups: Collection[str], path_of: PathOf) -> None:
        self._informers = Informers(client)
        self._groups, self._path_of = frozenset(groups), path_of
        self._informer: Informer[RecordedEvent] | None = None
        self.run = self._informers.run

    async def newest(self, most: int = MOST_SHOWN) -> list[Change]:
        """Events that say the same of several objects of a kind are one entry."""
        events = await self._events()
        ours = (each for each in events if each.involved_object.group in self._groups)
        groups: dict[tuple[str, str, str], list[RecordedEvent]] = {}
        for each in nlargest(_MOST_READ, ours, key=_order):
            groups.setdefault((each.involved_object.kind, each.reason, each.message), []).append(each)
        return [await self._change(each) for each in list(groups.values())[:most]]

    async def _events(self) -> list[RecordedEvent]:
        if self._informer is None:
            self._informer = self._informers.get(Source(EVENTS.path("")), RecordedEvent)
        if not self._informer.cache.is_synced:
            try:
                async with asyncio.timeout(_READY_WITHIN_S):
                    await self._informer.synced()
            except TimeoutError:
                return []
        return list(self._informer.cache)

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
