"""The state of the log in one process: current records and newest events in memory, and the subscribers.

It serves the reads of every store. Older changes come from an `Archive`. A batch is applied in one step of the event
loop (`absorb`), so no reader sees half a batch, and a subscriber gets live events right after history, without a gap.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol, cast

from homeostat.edge.threads import in_thread
from homeostat.edge.turn import Turn
from homeostat.store.base import (
    CompactedError,
    Deliver,
    Event,
    FutureRevisionError,
    Key,
    Page,
    Reader,
    Record,
    Scope,
    StoreError,
    Subscription,
)
from homeostat.store.broadcast import Broadcast
from homeostat.store.history import History, Past, add_undo, rewind
from homeostat.store.state import State

_MOST_EVENTS, _MOST_BYTES = 256, 2 << 20
"""Replayed in one turn of the loop."""
_FEW_EVENTS, _FEW_BYTES = 32, 64 << 10
"""A subscriber that has missed no more waits for no turn."""
_MANY = 5_000
"""Records of an older state, and changes since. More are sorted in a thread."""


class Archive(Protocol):
    """The log on disk."""

    async def events(self, scope: Scope, *, after: int, upto: int) -> tuple[list[Event], int]:
        """The first of the scope's events in (`after`, `upto`], in order, and the revision up to which they are
        complete.
        """

    async def first_changes(self, scope: Scope, *, after: int, upto: int) -> dict[Key, int]:
        """For each key changed in (`after`, `upto`], its revision before the first change; 0 if it did not exist."""

    async def records(self, revisions: Sequence[int]) -> list[Record]:
        """The records of these revisions, in the given order."""


class Replica:
    is_shared = False

    def __init__(self, archive: Archive, state: State, history: History, *, revision: int, oldest: int) -> None:
        self.revision = revision
        self.oldest = oldest
        self._archive = archive
        self._state = state
        self._history = history
        self._broadcast = Broadcast()
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._turn: Turn | None = None

    def get(self, key: Key) -> Record | None:
        return self._state.records.get(key)

    def select(self, scope: Scope) -> Sequence[Record]:
        start, stop = self._state.span(scope)
        return self._state.table(scope.resource)[start:stop]

    def count(self, scope: Scope) -> int:
        start, stop = self._state.span(scope)
        return stop - start

    def resources(self) -> Sequence[str]:
        return self._state.resources()

    async def reach(self, revision: int, *, timeout_s: float) -> None:
        if revision <= self.revision:
            return
        waiter = (revision, asyncio.get_running_loop().create_future())
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout(timeout_s):
                await waiter[1]
        except TimeoutError:
            raise FutureRevisionError(revision, self.revision) from None
        finally:
            self._waiters.remove(waiter)

    async def page(self, scope: Scope, *, at: int, after: tuple[str, str] | None = None, limit: int = 0) -> Page:
        self._require(at)
        undo = await self._undo(scope, at)
        # No await between the undo and this: the undo applies to the current state only.
        rewound = rewind(self._state, scope, undo, after=after, limit=limit)
        if rewound.undo and len(rewound.undo) + len(rewound.window) > _MANY:
            chosen, remaining = await in_thread(lambda: rewound.first(limit), user="snapshots")
        else:
            chosen, remaining = rewound.first(limit)
        records = await self._resolve(chosen, at) if undo else cast(Sequence[Record], chosen)
        return Page(records, at, remaining)

    async def subscribe(
        self, scope: Scope, *, since: int, deliver: Deliver, reader: Reader | None = None
    ) -> Subscription:
        self._require(since)
        position, waits = since, self._is_behind(scope, since)
        while True:
            if waits:
                # All replays share the turns: a crowd of subscribers that resume takes no more of the loop than one.
                self._turn = self._turn or Turn()
                await self._turn.pause()
                self._require(position)
            if position < self._history.floor:
                events, position = await self._replay(scope, position)
            else:
                events, position = self._history.next(position, scope, _MOST_EVENTS, _MOST_BYTES)
            _replay(events, deliver, reader)
            if position >= self._history.revision:
                return self._broadcast.add(scope, deliver, reader)
            waits = True

    def _is_behind(self, scope: Scope, revision: int) -> bool:
        history = self._history
        if revision < history.floor or history.is_longer(_FEW_EVENTS, after=revision):
            return True
        return sum(len(event.record.value) for event in history.after(revision, scope)) > _FEW_BYTES

    def absorb(self, events: Sequence[Event]) -> None:
        """Make committed events visible to readers. Call `announce` afterwards, in the same step of the loop."""
        for event in events:
            self._state.apply(event)
            self._history.add(event)
        self.revision = events[-1].record.revision
        for revision, waiter in self._waiters:
            if revision <= self.revision and not waiter.done():
                waiter.set_result(None)

    def announce(self, events: Sequence[Event]) -> None:
        self._broadcast.publish(events)

    def _require(self, revision: int) -> None:
        if revision < self.oldest:
            raise CompactedError(revision, self.oldest)
        if revision > self.revision:
            raise FutureRevisionError(revision, self.revision)

    async def _replay(self, scope: Scope, position: int) -> tuple[list[Event], int]:
        try:
            # A reader that is interrupted may lose its connection. A subscriber that leaves must not cause that.
            events, reached = await asyncio.shield(self._archive.events(scope, after=position, upto=self.revision))
        except StoreError:
            self._require(position)  # the history it needs may have been compacted meanwhile
            raise
        self._require(position)
        return events, reached

    async def _undo(self, scope: Scope, at: int) -> dict[Key, Past]:
        """The values at revision `at` of the scope's keys that changed later."""
        undo: dict[Key, Past] = {}
        if at >= self._state.changed(scope.resource):
            return undo
        position = at
        while position < self._history.floor:
            upto = self.revision
            for key, revision in (await self._archive.first_changes(scope, after=position, upto=upto)).items():
                undo.setdefault(key, revision or None)
            self._require(at)
            position = upto
        add_undo(undo, self._history.after(position, scope))
        return undo

    async def _resolve(self, chosen: Sequence[Record | int], at: int) -> Sequence[Record]:
        """Read the records that `undo` knows only by revision."""
        wanted = [each for each in chosen if isinstance(each, int)]
        if not wanted:
            return cast(Sequence[Record], chosen)
        try:
            read = iter(await self._archive.records(wanted))
        except StoreError:
            self._require(at)
            raise
        self._require(at)
        return [each if isinstance(each, Record) else next(read) for each in chosen]


def _replay(events: Sequence[Event], deliver: Deliver, reader: Reader | None) -> None:
    for event in events:
        deliver(event)
        # History must not keep the encodings.
        event.frames = None
    if events and reader is not None:
        reader.flush()
