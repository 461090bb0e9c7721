"""Up to which version a cache has seen the server's state, and which of our own writes it has yet to see.

A reconciliation that reads the cache right after its own write may see the object as it was before, and act twice. So
each write notes the version that the server gave it, and the next reconciliation waits until the watch has reached it.
The events of a watch come in the order of their versions: a cache that has seen a later one has seen the write.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from typing import Generic, NamedTuple, TypeVar

from homeostat.runtime.cache.decoding import Projected, version_of

K = TypeVar("K", bound=tuple[str, ...])

_FEWEST_TO_SWEEP = 256


class Freshness(Generic[K]):
    """`version` is the newest that was seen, `written` that of a write. Keeps only writes that were not seen yet."""

    __slots__ = ("_pending", "_waiters", "_wanted", "version", "written")

    def __init__(self) -> None:
        self.version = self.written = 0
        self._wanted: dict[K, int] = {}
        self._pending: list[tuple[int, K]] = []
        self._waiters: dict[K, deque[asyncio.Future[None]]] = {}

    def wrote(self, key: K, version: int) -> None:
        self.written = max(self.written, version)
        if version > max(self.version, self._wanted.get(key, 0)):
            self._wanted[key] = version
            heapq.heappush(self._pending, (version, key))
            if len(self._pending) > 2 * len(self._wanted) + _FEWEST_TO_SWEEP:
                # The watch is broken and the same objects are written again and again.
                self._pending = sorted((wanted, each) for each, wanted in self._wanted.items())

    def is_behind(self, key: K) -> bool:
        return key in self._wanted

    async def changed(self, key: K) -> None:
        """Until a write to the key was seen, or `wake`. The watch may be broken, so the caller sets a timeout."""
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
        """A list is the new state. One older than what was seen comes from a server that was restored from a backup:
        later writes are lost there, and waiting for them would never end.
        """
        is_restored = version < self.version
        self.version = version
        self.written = version if is_restored else self.written
        self._release(max((each for each, _ in self._pending), default=0) if is_restored else version)

    def let_go(self) -> None:
        """No more events come, so waiting for them ends."""
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


class Deletion(NamedTuple):
    """A deletion that the server has carried out, until the watch shows it.

    The answer to a write has the version that it led to. The answer to a deletion has only the uid, and for an object
    that went with its last finalizer a cluster answers with the version before. So the object that is held is compared
    with the one that was deleted. Where a projection has neither uid nor deletion time, the newest version that was
    known when the deletion was requested has to do: an object that is no newer existed then.
    """

    uid: str
    known: int
    """The newest version that was known when the deletion was requested."""
    is_final: bool = False
    """It was terminating before, and is gone now."""

    def is_unseen_in(self, held: Projected) -> bool:
        """Whether the object is the deleted one, as it was before. An object that was created later under the same name
        is not, nor is a terminating one, unless that was known already.
        """
        metadata = held.metadata
        uid = getattr(metadata, "uid", "")
        if not uid or not hasattr(metadata, "deletion_timestamp"):
            return version_of(held) <= self.known
        return bool(uid == self.uid) and (self.is_final or metadata.deletion_timestamp is None)
