"""One question answers all who waited when it was asked.

A reader that wants the newest state must see everything acknowledged before it asked; so a question that was already on
its way does not serve it, and the next one serves all that have come meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from homeostat.store.base import LostError, StoreError, UnreachableError

Ask = Callable[[], Awaitable[int]]


class Barrier:
    __slots__ = ("_ask", "_asking", "_waiting")

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._waiting: list[asyncio.Future[int]] = []
        self._asking: asyncio.Task[None] | None = None

    def wait(self) -> asyncio.Future[int]:
        """The answer to a question that is asked after this call."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[int] = loop.create_future()
        self._waiting.append(future)
        if self._asking is None:
            self._asking = loop.create_task(self._run(), name="store-barrier")
        return future

    async def close(self) -> None:
        """Wait until nobody waits any more."""
        if self._asking is not None:
            await self._asking

    async def _run(self) -> None:
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, []
                try:
                    answer = await self._ask()
                except StoreError as error:
                    _fail(waiting, error)
                except BaseException as error:  # handed on: whoever asked must not wait for ever
                    _fail(waiting, error)
                    raise
                else:
                    for future in waiting:
                        if not future.done():
                            future.set_result(answer)
        finally:
            self._asking = None


def _fail(waiting: list[asyncio.Future[int]], cause: BaseException) -> None:
    kind = LostError if isinstance(cause, LostError) else UnreachableError
    for future in waiting:
        if not future.done():
            # Each caller gets its own: a shared one would collect the tracebacks of all.
            error = kind(str(cause))
            error.__cause__ = cause
            future.set_exception(error)
