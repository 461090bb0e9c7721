"""How far a cache has come, and how far it must come before an object may be looked at again.

A reconcile that reads the cache right after its own write may see the object as it was before, and do everything twice.
So a write tells the version that the server gave it, and a look waits for the watch to have come that far. The events
of a watch come in the order of their versions: who has seen a later one has seen the object's.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from typing import Generic, TypeVar

K = TypeVar("K", bound=tuple[str, ...])

_FEWEST_TO_SWEEP = 256


class Freshness(Generic[K]):
    """`version` is the newest that was seen, `told` that of a write. Remembers only writes that were not seen yet."""

    __slots__ = ("_pending", "_waiters", "_wanted", "told", "version")

    def __init__(self) -> None:
        self.version = self.told = 0
        self._wanted: dict[K, int] = {}
        self._pending: list[tuple[int, K]] = []
        self._waiters: dict[K, deque[asyncio.Future[None]]] = {}

    def wrote(self, key: K, version: int) -> None:
        self.told = max(self.told, version)
        if version > max(self.version, self._wanted.get(key, 0)):
            self._wanted[key] = version
            heapq.heappush(self._pending, (version, key))
            if len(self._pending) > 2 * len(self._wanted) + _FEWEST_TO_SWEEP:
                # The watch is cut off and the same objects are written again and again.
                self._pending = sorted((wanted, each) for each, wanted in self._wanted.items())

    def is_behind(self, key: K) -> bool:
        return key in self._wanted

    async def news(self, key: K) -> None:
        """Until a write to the key was seen, or `wake`. A watch may be cut off, so the caller sets a timeout."""
        waiter = asyncio.get_running_loop().create_future()
        line = self._waiters.setdefault(key, deque())
        line.append(waiter)
        try:
            await waiter
        finally:
            if waiter in line:
                line.remove(waiter)
            if not line and self._waiters.get(key) is line:
                del self._waiters[key]

    def wake(self, key: K) -> None:
        for waiter in self._waiters.pop(key, ()):
            if not waiter.done():
                waiter.set_result(None)

    def advance(self, version: int) -> None:
        if version > self.version:
            self.version = version
            if self._pending:
                self._release(version)

    def restart(self, version: int) -> None:
        """A list tells the state anew. One older than what was seen is of a server that was put back to a backup:
        what was written to it since is lost, and waiting for that would never end.
        """
        is_put_back = version < self.version
        self.version = version
        self.told = version if is_put_back else self.told
        self._release(max((each for each, _ in self._pending), default=0) if is_put_back else version)

    def let_go(self) -> None:
        """Nothing will be seen any more, so nobody waits for it."""
        self._wanted.clear()
        self._pending.clear()
        for key in list(self._waiters):
            self.wake(key)

    def _release(self, version: int) -> None:
        pending = self._pending
        while pending and pending[0][0] <= version:
            _, key = heapq.heappop(pending)
            if self._wanted.get(key, version + 1) <= version:
                del self._wanted[key]
                self.wake(key)
