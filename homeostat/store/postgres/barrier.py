"""Shares one query among all callers that wait for the newest state.

A reader must see every write that was acknowledged before its call. A query that is already under way may be too old
for it, so it waits for the next query, which serves all callers that came meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from homeostat.store.base import LostError, StoreError, UnreachableError

Query = Callable[[], Awaitable[int]]


class Barrier:
    __slots__ = ("_query", "_running", "_waiting")

    def __init__(self, query: Query) -> None:
        self._query = query
        self._waiting: list[asyncio.Future[int]] = []
        self._running: asyncio.Task[None] | None = None

    def wait(self) -> asyncio.Future[int]:
        """The result of a query that starts after this call."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[int] = loop.create_future()
        self._waiting.append(future)
        if self._running is None:
            self._running = loop.create_task(self._run(), name="store-barrier")
        return future

    async def close(self) -> None:
        """Wait until all callers have their result."""
        if self._running is not None:
            await self._running

    async def _run(self) -> None:
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, []
                try:
                    answer = await self._query()
                except StoreError as error:
                    _fail(waiting, error)
                except BaseException as error:  # passed on, so that no caller waits forever
                    _fail(waiting, error)
                    raise
                else:
                    for future in waiting:
                        if not future.done():
                            future.set_result(answer)
        finally:
            self._running = None


def _fail(waiting: list[asyncio.Future[int]], cause: BaseException) -> None:
    kind = LostError if isinstance(cause, LostError) else UnreachableError
    for future in waiting:
        if not future.done():
            # One error per caller: a shared one would collect all their tracebacks.
            error = kind(str(cause))
            error.__cause__ = cause
            future.set_exception(error)
