"""Limits how many calls run at once: those that change one object, and the reads and writes of exempt callers.

The calls of all other callers take seats of a priority level instead (`server/flow_control`). Further calls wait in
order, so that under load calls are slower but not refused. If the queue is full too, the call fails with 429. Watches
do not count, because idle ones cost nothing.

Of the writes that change the same revision of an object, a commit accepts one, and the others are computed again. With
hundreds of them, each would be computed for each commit, all in one turn of the event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from contextlib import suppress
from typing import Final

from homeostat.objects.errors import TooManyRequestsError

_MUTATING = frozenset({"create", "update", "patch", "delete", "deletecollection"})
CHANGING: Final = frozenset({"update", "patch", "delete"})
"""The verbs whose calls first enter the lane of their object."""
MOST_READS: Final = 400
MOST_WRITES: Final = 200
MOST_WRITES_OF_OBJECT: Final = 4
"""More than one, so that a webhook that is slow, or that writes the object itself, does not hold up the others."""
MOST_WAITING: Final = 2000


class Lane:
    """Admits `most` calls at once. If `enter` is False, await `turn`; in both cases call `leave` at the end."""

    __slots__ = ("_most", "_most_waiting", "_running", "_waiting", "_what")

    def __init__(self, what: str, most: int, most_waiting: int) -> None:
        self._what, self._most, self._most_waiting = what, most, most_waiting
        self._running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def enter(self) -> bool:
        if self._running >= self._most:
            return False
        self._running += 1
        return True

    async def turn(self, flow: object = None) -> None:
        """Wait to be admitted, in one queue for all flows; `TooManyRequestsError` if too many wait already."""
        if len(self._waiting) >= self._most_waiting:
            raise TooManyRequestsError(f"too many {self._what} at once, please try again later", retry_after_s=1)
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.cancelled():
                # `leave` may have removed it already: the cancellation arrives a turn later than it is set.
                with suppress(ValueError):
                    self._waiting.remove(place)
            else:
                self.leave()
            raise

    def leave(self) -> None:
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)  # The waiter takes over the place.
                return
        self._running -= 1

    @property
    def is_empty(self) -> bool:
        return not self._running


class ObjectLanes:
    """A lane for each object that is being changed, used as a `Lane` is.

    The key has the priority level as well: calls that wait for a seat there must not hold up those of other levels.
    """

    __slots__ = ("_lanes", "_most", "_most_waiting")

    def __init__(self, most: int, most_waiting: int) -> None:
        self._lanes: dict[Hashable, Lane | None] = {}
        """None while the object has one writer, as nearly every one has."""
        self._most, self._most_waiting = most, most_waiting

    def __len__(self) -> int:
        return len(self._lanes)

    def enter(self, key: Hashable) -> bool:
        if key not in self._lanes:
            self._lanes[key] = None
            return True
        return self._lane(key).enter()

    async def turn(self, key: Hashable) -> None:
        try:
            await self._lane(key).turn()
        except asyncio.CancelledError:
            self._forget(key)
            raise

    def leave(self, key: Hashable) -> None:
        lane = self._lanes[key]
        if lane is None:
            del self._lanes[key]
        else:
            lane.leave()
            self._forget(key)

    def _lane(self, key: Hashable) -> Lane:
        lane = self._lanes[key]
        if lane is None:
            lane = self._lanes[key] = Lane("writes of one object", self._most, self._most_waiting)
            lane.enter()
        return lane

    def _forget(self, key: Hashable) -> None:
        lane = self._lanes.get(key)
        if lane is not None and lane.is_empty:
            del self._lanes[key]


class InFlight:
    __slots__ = ("objects", "reads", "writes")

    def __init__(
        self, most_reads: int = MOST_READS, most_writes: int = MOST_WRITES, most_waiting: int = MOST_WAITING
    ) -> None:
        self.reads = Lane("reads", most_reads, most_waiting)
        self.writes = Lane("writes", most_writes, most_waiting)
        self.objects = ObjectLanes(MOST_WRITES_OF_OBJECT, most_waiting)

    def lane(self, verb: str) -> Lane:
        return self.writes if verb in _MUTATING else self.reads
