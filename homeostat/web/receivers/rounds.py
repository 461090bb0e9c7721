"""Rounds of work by key: what is requested while a round runs is done by the next one, once for all who asked.

A push of ten tags sends ten webhooks. The first starts a round, and the other nine share the one after it; each of
them is answered when a round that began after it has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class _Round:
    __slots__ = ("following", "lock", "users")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.following: asyncio.Task[int] | None = None
        self.users = 0


class Rounds(Generic[K]):
    def __init__(self, work: Callable[[K], Awaitable[int]]) -> None:
        self._work = work
        self._rounds: dict[K, _Round] = {}
        self._tasks: set[asyncio.Task[int]] = set()

    async def run(self, key: K) -> int:
        """The result of a round that began after this call."""
        found = self._rounds.setdefault(key, _Round())
        found.users += 1
        try:
            if found.following is None:
                found.following = self._start(key, found)
            # A sender that goes away does not end what others wait for.
            return await asyncio.shield(found.following)
        finally:
            found.users -= 1
            if not found.users:
                self._rounds.pop(key, None)

    async def close(self) -> None:
        """End all rounds."""
        for each in self._tasks:
            each.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, key: K, found: _Round) -> asyncio.Task[int]:
        task = asyncio.create_task(self._round(key, found))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[int]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # Nobody may be waiting any more.
            task.exception()

    async def _round(self, key: K, found: _Round) -> int:
        async with found.lock:
            found.following = None
            return await self._work(key)
