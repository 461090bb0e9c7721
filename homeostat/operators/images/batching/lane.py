"""One pass at a time over a group: all who ask while one runs share the next.

Who asks gets a pass that began after the question, so a commit that was pushed before is seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from homeostat.operators.images.batching.memory import Memory
from homeostat.operators.images.passes import Outcomes

Run = Callable[[Memory], Awaitable[Outcomes]]


class Lane:
    """`run` passes over the group; `start` starts a task that the caller owns."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._next: asyncio.Future[Outcomes] | None = None
        self._memory = Memory()
        self._is_running = False

    @property
    def is_idle(self) -> bool:
        return not self._is_running and self._next is None

    def ask(self, memory: Memory, start: Callable[[Lane], None]) -> asyncio.Future[Outcomes]:
        """The newest memory is used: what an older one holds may have been asked before this question."""
        self._memory = memory
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        future = self._next
        if not self._is_running:
            self._is_running = True
            start(self)
        return future

    async def drain(self) -> None:
        """Runs passes until nobody asks. A future gets the error of its pass."""
        try:
            while self._next is not None:
                future, self._next = self._next, None
                try:
                    found = await self._run(self._memory)
                except BaseException as error:
                    if not future.done():
                        future.set_exception(_reported(error))
                        future.exception()
                    raise
                if not future.done():
                    future.set_result(found)
        finally:
            self._is_running = False
            if self._next is not None:
                self._next.cancel()
                self._next = None


def _reported(error: BaseException) -> BaseException:
    return RuntimeError("the pass was cancelled") if isinstance(error, asyncio.CancelledError) else error
