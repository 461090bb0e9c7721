"""Delivers the changes of the index as steps to all followers.

A step is made once for all followers. Promises:

- steps of one kind come in the order of their revisions
- `reached` of a step is the revision of each kind up to which everything was delivered, including the step
- a new follower gets every step after `Feed.reached` and none before it
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from homeostat.web.actions.events.frame import EventFrame, events_of
from homeostat.web.actions.index.changes import IndexedResource, ResourceChange
from homeostat.web.actions.index.entry import Entry
from homeostat.web.actions.index.index import ResourceIndex

_NOTHING: Final[Mapping[str, int]] = {}


class Step(msgspec.Struct, frozen=True, gc=False):
    """The events of one revision. A step without frames only advances its kind."""

    kind: str
    revision: int
    frames: tuple[EventFrame, ...] = ()
    reached: Mapping[str, int] = _NOTHING


Take = Callable[[Step], None]


class Feed:
    def __init__(self, index: ResourceIndex) -> None:
        self.reached: dict[str, int] = {}
        self._index = index
        self._takers: tuple[Take, ...] = ()
        self._burst: list[tuple[str, int, tuple[EventFrame, ...]]] = []
        self.end = index.subscribe(self._note)

    def follow(self, take: Take) -> Callable[[], None]:
        """`take` must not raise. Returns a function that ends the following."""
        self.flush()
        self._takers = (*self._takers, take)

        def leave() -> None:
            self._takers = tuple(each for each in self._takers if each is not take)

        return leave

    def flush(self) -> None:
        """Delivers all changes so far."""
        # After a relist, changes come in the order of names.
        burst = sorted(self._burst, key=lambda each: each[1])
        self._burst = []
        for kind, revision, frames in burst:
            self.reached = {**self.reached, kind: max(revision, self.reached.get(kind, 0))}
            step = Step(kind, revision, frames, self.reached)
            for take in self._takers:
                take(step)
        self.reached = self._index.reached()

    def _note(self, change: ResourceChange) -> None:
        indexed = change.new or change.old
        if not self._takers or indexed is None:
            return
        if not self._burst:
            asyncio.get_running_loop().call_soon(self.flush)
        old, new = (each.entry if each is not None else None for each in (change.old, change.new))
        frames = frames_of(self._index, indexed, old, new)
        self._burst.append((indexed.kind.kind, change.revision, frames))


def frames_of(
    index: ResourceIndex, indexed: IndexedResource, old: Entry | None, new: Entry | None
) -> tuple[EventFrame, ...]:
    """`indexed` is any version of the resource; it gives the kind."""
    message = []
    for event_type, entry in events_of(old, new):
        about = IndexedResource(indexed.kind, entry)
        if (resource_type := index.type_of(about)) is not None:
            message.append(EventFrame(event_type, about, resource_type))
    return tuple(message)
