"""The version up to which a cache has seen the state of the server, and our own writes that it has not seen yet.

A reconciliation that reads the cache right after its own write may see the object as it was before, and act twice. So
each write notes the version that the server gave it, and the next reconciliation waits until the watch has reached it.
The events of a watch arrive in the order of their versions, so a cache that has seen a later one has seen the write.
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
    """`version` is the newest seen one, `written` that of the newest write. Keeps only writes that were not seen."""

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
        """Waits until a write to the key was seen, or for `wake`. The caller sets a timeout."""
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
        """A list is the new state. If it is older than the seen version, the server was restored from a backup: later
        writes are lost, and waiting for them would never end.
        """
        is_restored = version < self.version
        self.version = version
        self.written = version if is_restored else self.written
        self._release(max((each for each, _ in self._pending), default=0) if is_restored else version)

    def release(self) -> None:
        """Ends all waiting, because no more events will arrive."""
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
    """A deletion that the server has carried out and the watch has not delivered yet.

    The answer to a write has the new version. The answer to a deletion has only the uid; if the object was removed with
    its last finalizer, a cluster answers with the version before. So the cached object is compared with the deleted
    one. If the projection has neither uid nor deletion time, the versions decide: an object that is not newer than
    `known` existed before the deletion.
    """

    uid: str
    known: int
    """The newest version that was known when the deletion was requested."""
    is_final: bool = False
    """The object was terminating before, and is deleted now."""

    def is_unseen_in(self, cached: Projected) -> bool:
        """Whether the cached object is the state before the deletion. That is false for an object that was created
        later with the same name, and for a terminating one unless the deletion is final.
        """
        metadata = cached.metadata
        uid = getattr(metadata, "uid", "")
        if not uid or not hasattr(metadata, "deletion_timestamp"):
            return version_of(cached) <= self.known
        return bool(uid == self.uid) and (self.is_final or metadata.deletion_timestamp is None)
