"""Limits how many calls run at once, separately for reads and writes.

Further calls wait in order, so that under load calls are slower but not refused. If the queue is full too, the call
fails with 429. Watches do not count, because idle ones cost nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from homeostat.objects.errors import TooManyRequestsError

_MUTATING = frozenset({"create", "update", "patch", "delete", "deletecollection"})
MOST_READS: Final = 400
MOST_WRITES: Final = 200
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

    async def turn(self) -> None:
        """Wait to be admitted; `TooManyRequestsError` if too many wait already."""
        if len(self._waiting) >= self._most_waiting:
            raise TooManyRequestsError(f"too many {self._what} at once, please try again later", retry_after_s=1)
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.cancelled():
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


class InFlight:
    __slots__ = ("reads", "writes")

    def __init__(
        self, most_reads: int = MOST_READS, most_writes: int = MOST_WRITES, most_waiting: int = MOST_WAITING
    ) -> None:
        self.reads = Lane("reads", most_reads, most_waiting)
        self.writes = Lane("writes", most_writes, most_waiting)

    def lane(self, verb: str) -> Lane:
        return self.writes if verb in _MUTATING else self.reads
