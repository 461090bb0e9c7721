"""Timeouts of calls that wait.

One check of all of them each second replaces a timer for each: a limit of one minute need not be exact, and a timer
costs a write more than its encoding does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")

TIMEOUT_S = 60.0


class Deadlines:
    """Call `tick` periodically; a wait ends at the first `tick` after its time."""

    def __init__(self, limit_s: float = TIMEOUT_S) -> None:
        self.limit_s = limit_s
        self._waits: dict[asyncio.Task[Any], float] = {}
        """When each of the tasks has waited for too long."""
        self._late: dict[asyncio.Task[Any], int] = {}
        """Those that were cancelled for it, with how often they had been cancelled before."""

    async def keep(self, answer: Awaitable[T], on_timeout: Callable[[], T]) -> T:
        """The result of the awaitable, or of `on_timeout` if it takes longer than the limit.

        A call inside of another one in the same task, in process, ends with that one.
        """
        task = asyncio.current_task()
        assert task is not None
        if task in self._waits or task in self._late:
            return await answer
        self._waits[task] = task.get_loop().time() + self.limit_s
        try:
            return await answer
        except asyncio.CancelledError:
            before = self._late.get(task)
            # If something else cancelled the task as well, the cancellation takes precedence.
            if before is not None and task.uncancel() <= before:
                return on_timeout()
            raise
        finally:
            self._waits.pop(task, None)
            self._late.pop(task, None)

    def tick(self, now: float) -> None:
        for task in [each for each, ends_at in self._waits.items() if ends_at <= now]:
            del self._waits[task]
            self._late[task] = task.cancelling()
            task.cancel()
