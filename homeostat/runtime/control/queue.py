"""A work queue of names. Its promises, each with a test of the same name:

- a key is held once, however often it is added
- a key being worked on is held until done
- of two times the earlier one wins
- a change overtakes a relist
- a relist is not starved by changes
- of keys with several shares, each share gets its turn, however many keys another one has
- a retry backs off and keeps its priority
- forgetting resets the backoff
- closing releases the takers and hands out nothing more
- draining waits for the work that runs

It holds names and never events: a worker reads the state when it takes one. Everything happens on one event loop, by
that loop's clock, so there are no locks. Idle, it costs nothing: a timer is set only while somebody waits.
"""

from __future__ import annotations

import asyncio
import heapq
import random
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from enum import IntEnum
from typing import Generic, TypeVar

from homeostat.objects.time.backoff import Backoff

K = TypeVar("K", bound=Hashable)

_HELD, _DELAYED, _TAKEN = -1, -2, -3
_FEWEST_TO_SWEEP = 256


class Priority(IntEnum):
    """CHANGE is for work that somebody waits for, RESYNC for periodic work and relists."""

    CHANGE = 0
    RESYNC = 1


PATIENCE = 8
"""After this many changes in a row, a key of the relist is taken."""


class QueueClosedError(Exception):
    """The queue is closed."""


class _Entry(Generic[K]):
    """One waiting key. `place` is the position that counts: older ones are skipped."""

    __slots__ = ("due", "key", "place", "priority")

    def __init__(self, key: K, due: float, priority: int) -> None:
        self.key, self.due, self.priority = key, due, priority
        self.place = _HELD


class _Line(Generic[K]):
    """The entries of one priority that could be taken: in order within a share, the shares by turns."""

    __slots__ = ("_of_share", "_priority", "_share", "_size")

    def __init__(self, priority: Priority, share: Callable[[K], Hashable]) -> None:
        self._priority, self._share = priority, share
        # The first one of a dict is found only after all that were removed before it.
        self._of_share: OrderedDict[Hashable, deque[_Entry[K]]] = OrderedDict()
        """The first one is next."""
        self._size = 0

    def __len__(self) -> int:
        """With those that are not here any more."""
        return self._size

    def append(self, entry: _Entry[K]) -> None:
        self._of_share.setdefault(self._share(entry.key), deque()).append(entry)
        self._size += 1

    def __bool__(self) -> bool:
        while self._of_share:
            share, entries = next(iter(self._of_share.items()))
            while entries and entries[0].place != self._priority:
                entries.popleft()
                self._size -= 1
            if entries:
                return True
            del self._of_share[share]
        return False

    def take(self) -> _Entry[K]:
        """The first one, of a line that is not empty."""
        share, entries = self._of_share.popitem(last=False)
        entry = entries.popleft()
        self._size -= 1
        if entries:
            self._of_share[share] = entries
        return entry

    def clear(self) -> None:
        self._of_share.clear()
        self._size = 0

    def sweep(self) -> None:
        """Forget those that are not here any more."""
        self._of_share = OrderedDict(
            (share, deque(each for each in entries if each.place == self._priority))
            for share, entries in self._of_share.items()
        )
        self._size = sum(map(len, self._of_share.values()))


class WorkQueue(Generic[K]):
    """Create it inside a running event loop. `adds`, `retries`, `takes` and `waited_s` are counters.

    `share` returns whose key it is, such as its namespace: however many keys one share has, the others get their turns.
    """

    def __init__(
        self,
        *,
        backoff: Backoff | None = None,
        chance: Callable[[], float] = random.random,
        share: Callable[[K], Hashable] = lambda _: None,
    ) -> None:
        self.adds = self.retries = self.takes = 0
        self.waited_s = 0.0
        self._backoff, self._chance = backoff or Backoff(), chance
        self._loop = asyncio.get_running_loop()
        self._entries: dict[K, _Entry[K]] = {}
        self._working: dict[K, int] = {}
        self._failures: dict[K, int] = {}
        self._ready: tuple[_Line[K], _Line[K]] = (_Line(Priority.CHANGE, share), _Line(Priority.RESYNC, share))
        self._later: list[tuple[float, int, _Entry[K]]] = []
        self._depth = self._pushed = self._overtaken = 0
        self._takers: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.Handle | None = None
        self._rings_at = 0.0
        self._is_closed = False
        self._drained = asyncio.Event()

    def add(self, key: K, *, after_s: float = 0.0, priority: Priority | None = None) -> None:
        """Holds the key until it is due. If it is held already, the earlier time and the higher priority win.

        By default immediate work has the priority CHANGE and delayed work RESYNC.
        """
        if self._is_closed:
            return
        self.adds += 1
        now = self._loop.time()
        due = now + after_s if after_s > 0 else now
        level: int = (due > now) if priority is None else priority
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(key, due, level)
        elif due >= entry.due and level >= entry.priority:
            return
        else:
            entry.due = min(due, entry.due)
            entry.priority = min(level, entry.priority)
        if key not in self._working:
            self._place(entry, now)

    async def take(self) -> K:
        """The next key that is due; no other worker gets it until `done`. `QueueClosedError` after `close`."""
        while not self._is_closed:
            entry = self._next()
            if entry is not None:
                entry.place = _TAKEN
                del self._entries[entry.key]
                self._depth -= 1
                self._working[entry.key] = entry.priority
                self.takes += 1
                self.waited_s += max(0.0, self._loop.time() - entry.due)
                return entry.key
            await self._wait()
        raise QueueClosedError

    def done(self, key: K) -> None:
        """The work on a taken key has ended; what was added meanwhile counts from here on."""
        del self._working[key]
        entry = self._entries.get(key)
        if entry is not None:
            self._place(entry, self._loop.time())
        if self._is_closed and not self._working:
            self._drained.set()

    def retry(self, key: K, *, at_least_s: float = 0.0) -> float:
        """Adds a taken key again after its backoff, in seconds, which is returned."""
        self.retries += 1
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay_s = max(at_least_s, self._backoff.delay_s(failures, self._chance()))
        self.add(key, after_s=delay_s, priority=Priority(self._working.get(key, Priority.CHANGE)))
        return delay_s

    def forget(self, key: K) -> None:
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """How often in a row the key was retried."""
        return self._failures.get(key, 0)

    def close(self) -> None:
        """Drops waiting keys, ignores later adds, and raises `QueueClosedError` in `take`."""
        self._is_closed = True
        self._depth = 0
        self._entries.clear()
        self._failures.clear()
        self._later.clear()
        for line in self._ready:
            line.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._takers:
            self._wake()
        if not self._working:
            self._drained.set()

    async def drain(self) -> None:
        """Closes the queue and waits until no key is being worked on. The caller sets a timeout."""
        self.close()
        await self._drained.wait()

    @property
    def depth(self) -> int:
        """Keys that a worker could take now."""
        self._promote(self._loop.time())
        return self._depth

    @property
    def delayed(self) -> int:
        """Keys that are not due yet, or are being worked on and held for afterwards."""
        return len(self._entries) - self.depth

    @property
    def working(self) -> int:
        return len(self._working)

    @property
    def oldest_wait_s(self) -> float:
        """How long the key that has waited longest could have been taken; 0.0 if none waits."""
        now = self._loop.time()
        self._promote(now)
        return now - min((each.due for each in self._entries.values() if each.place >= 0), default=now)

    def _place(self, entry: _Entry[K], now: float) -> None:
        """Puts an entry where its time and priority say; a position that it had before no longer counts."""
        if entry.due <= now:
            if entry.place < 0:
                self._depth += 1
                self._wake()
            if entry.place != entry.priority:
                entry.place = entry.priority
                self._ready[entry.priority].append(entry)
        else:
            entry.place = _DELAYED
            self._pushed += 1
            heapq.heappush(self._later, (entry.due, self._pushed, entry))
            if self._takers:
                self._set_timer()
        if len(self._later) + len(self._ready[1]) > 2 * len(self._entries) + _FEWEST_TO_SWEEP:
            self._sweep()

    def _next(self) -> _Entry[K] | None:
        if self._later:
            self._promote(self._loop.time())
        changes, resyncs = self._ready
        if resyncs and (not changes or self._overtaken >= PATIENCE):
            self._overtaken = 0
            return resyncs.take()
        if changes:
            self._overtaken = self._overtaken + 1 if resyncs else 0
            return changes.take()
        return None

    def _promote(self, now: float) -> None:
        later = self._later
        while later and later[0][0] <= now:
            entry = heapq.heappop(later)[2]
            if entry.place == _DELAYED:
                self._place(entry, now)

    def _sweep(self) -> None:
        """A key that waits and then comes sooner, again and again, leaves a position behind each time."""
        self._later = [each for each in self._later if each[2].place == _DELAYED and each[2].due == each[0]]
        heapq.heapify(self._later)
        self._ready[1].sweep()

    async def _wait(self) -> None:
        taker = self._loop.create_future()
        self._takers.append(taker)
        self._set_timer()
        try:
            await taker
        except asyncio.CancelledError:
            if taker.done() and not taker.cancelled():
                self._wake()
            elif taker in self._takers:
                self._takers.remove(taker)
            raise

    def _wake(self) -> None:
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                return

    def _set_timer(self) -> None:
        if not self._later:
            return
        due = self._later[0][0]
        if self._timer is not None:
            if self._rings_at <= due:
                return
            self._timer.cancel()
        # uvloop's handles do not have their time.
        self._rings_at = due
        self._timer = self._loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        # A loop may call a moment early: its clock is coarser than its timers.
        self._promote(max(self._rings_at, self._loop.time()))
        if self._takers:
            self._set_timer()
