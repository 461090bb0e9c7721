"""Spreads the work of many calls over turns of the event loop.

A write may call hundreds of webhooks. To open a connection, to receive a handshake and to give up a call take up to a
millisecond each, so calls that all begin or all time out in one turn would hold up everybody else. `CallPace` lets a
few begin in a turn, first come, first served; `Deadlines` ends a few in a turn; `Room` bounds the bytes that are under
way to webhooks, `Shares` those that come back.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import NamedTuple

_SWEEP_EVERY_S = 0.02
_MOST_MADE = 2
"""Large bodies that are being made at once."""


class CallPace:
    __slots__ = ("_is_scheduled", "_left", "_most", "_waiting")

    def __init__(self, most: int) -> None:
        self._most = self._left = most
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_scheduled = False

    async def turn(self) -> None:
        loop = asyncio.get_running_loop()
        if not self._is_scheduled:
            self._is_scheduled = True
            loop.call_soon(self._run, loop)
        if self._left and not self._waiting:
            self._left -= 1
            return
        place: asyncio.Future[None] = loop.create_future()
        self._waiting.append(place)
        await place

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        is_used, self._left = self._left < self._most, self._most
        while self._waiting and self._left:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                self._left -= 1
        self._is_scheduled = is_used or self._left < self._most
        if self._is_scheduled:
            loop.call_soon(self._run, loop)


class Deadlines:
    """Timeouts that end at most `most` calls in a turn. They are late by some hundredths of a second."""

    __slots__ = ("_is_scheduled", "_most", "_running")

    def __init__(self, most: int) -> None:
        self._most = most
        self._running: dict[float, dict[asyncio.Timeout, float]] = {}
        """For each length of a timeout, those that run and when they end, earliest first."""
        self._is_scheduled = False

    @asynccontextmanager
    async def within(self, timeout_s: float) -> AsyncIterator[None]:
        """As `asyncio.timeout`."""
        loop = asyncio.get_running_loop()
        running = self._running.setdefault(timeout_s, {})
        async with asyncio.timeout(None) as timeout:
            running[timeout] = loop.time() + timeout_s
            if not self._is_scheduled:
                self._is_scheduled = True
                loop.call_later(min(_SWEEP_EVERY_S, timeout_s), self._sweep, loop)
            try:
                yield
            finally:
                running.pop(timeout, None)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now, left = loop.time(), self._most
        for timeout_s, running in list(self._running.items()):
            while running and left and running[first := next(iter(running))] <= now:
                del running[first]
                first.reschedule(now)
                left -= 1
            if not running:
                del self._running[timeout_s]
        self._is_scheduled = bool(self._running)
        if not left:
            self._is_scheduled = True
            loop.call_soon(self._sweep, loop)
        elif self._is_scheduled:
            loop.call_later(_SWEEP_EVERY_S, self._sweep, loop)


class Room:
    """Admits large bodies while those under way have less than `most` bytes together.

    Those to one host may have as much as all of them leave free: one alone half of the room, two a third each. So a
    host that never answers holds up nobody else.
    """

    __slots__ = ("_making", "_most", "_of", "_waiting", "total")

    def __init__(self, most: int) -> None:
        self._making = 0
        self._most = most
        self._of: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        """By host, the next one first."""
        self.total = 0

    @asynccontextmanager
    async def place(self, host: str) -> AsyncIterator[Callable[[int], None]]:
        """Waits for room. The size is unknown until the body is made, so that few are made at once; pass it then."""
        while not self._has_room(host):
            await self._wait(host)
        self._making += 1
        taken: list[int] = []

        def take(size: int) -> None:
            self._making -= 1
            self.total += size
            self._of[host] += size
            taken.append(size)
            self._wake()

        try:
            yield take
        finally:
            self._making -= not taken
            self.total -= sum(taken)
            self._of[host] -= sum(taken)
            if not self._of[host]:
                del self._of[host]
            self._wake()

    def _has_room(self, host: str) -> bool:
        return self._making < _MOST_MADE and self._of[host] < self._most - self.total

    async def _wait(self, host: str) -> None:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(host, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            self._wake()  # Its turn may have come at the same moment.
            raise

    def _wake(self) -> None:
        """The first of the next host that has room. The hosts take turns."""
        for host, places in list(self._waiting.items()):
            while places and places[0].done():
                places.popleft()
            if places and self._has_room(host):
                places.popleft().set_result(None)
                self._waiting.move_to_end(host)
            if not places:
                del self._waiting[host]


class Share:
    """What one answer may take; see `Shares`."""

    __slots__ = ("_shares", "owner", "size")

    def __init__(self, shares: Shares, owner: str) -> None:
        self._shares, self.owner, self.size = shares, owner, 0

    async def take(self, size: int) -> None:
        """Wait for room for so many bytes. Only once: two that hold some and wait for more would wait for ever."""
        if not self._shares.grant(self, size):
            await self._shares.wait(self, size)


class _Asked(NamedTuple):
    share: Share
    size: int
    granted: asyncio.Future[None]


class Shares:
    """Room for large answers, shared between those who send them.

    Each may have as much as all of them leave free: one alone half of the room, two a third each. So whoever sends
    large answers slowly holds up nobody else.
    """

    __slots__ = ("_most", "_of", "_waiting", "total")

    def __init__(self, most: int) -> None:
        self._most = most
        self._of: Counter[str] = Counter()
        self._waiting: dict[str, deque[_Asked]] = {}
        self.total = 0

    @contextmanager
    def share(self, owner: str) -> Iterator[Share]:
        share = Share(self, owner)
        try:
            yield share
        finally:
            self._return(share)

    def grant(self, share: Share, size: int) -> bool:
        if self._of[share.owner] + size > self._most - self.total - size:
            return False
        self._of[share.owner] += size
        self.total += size
        share.size += size
        return True

    async def wait(self, share: Share, size: int) -> None:
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(share.owner, deque()).append(_Asked(share, size, granted))
        await granted

    def _return(self, share: Share) -> None:
        if not share.size:
            return
        self.total -= share.size
        self._of[share.owner] -= share.size
        share.size = 0
        if not self._of[share.owner]:
            del self._of[share.owner]
        for owner, asked in list(self._waiting.items()):
            while asked and (asked[0].granted.done() or self.grant(asked[0].share, asked[0].size)):
                place = asked.popleft().granted
                if not place.done():
                    place.set_result(None)
            if not asked:
                del self._waiting[owner]
