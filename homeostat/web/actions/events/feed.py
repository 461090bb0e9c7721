"""The changes of the index, as steps for all readers that follow them.

Followed or not, a change costs one step: it is made for all followers together. Promises:

- steps of one kind come in the order of their revisions
- `reached` of a step says up to which revision of each kind everything was told, the step included
- who begins to follow is told of all that comes after `Feed.reached`, and of nothing before
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
    """What one revision changed. One without tellings says only how far its kind has come."""

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
        """`take` does not raise. Returns what ends it."""
        self.flush()
        self._takers = (*self._takers, take)

        def leave() -> None:
            self._takers = tuple(each for each in self._takers if each is not take)

        return leave

    def flush(self) -> None:
        """Tells what the book was told of so far."""
        # A list that the book has caught up by is told in the order of names.
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
    """`indexed` says of what kind it is."""
    message = []
    for event_type, entry in events_of(old, new):
        about = IndexedResource(indexed.kind, entry)
        if (resource_type := index.type_of(about)) is not None:
            message.append(EventFrame(event_type, about, resource_type))
    return tuple(message)
