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


class _Wait:
    __slots__ = ("cancelled_before", "ends_at", "is_over", "task")

    def __init__(self, task: asyncio.Task[Any], ends_at: float) -> None:
        self.task = task
        self.ends_at = ends_at
        self.cancelled_before = task.cancelling()
        self.is_over = False


class Deadlines:
    """Call `tick` periodically; a wait ends at the first `tick` after its time."""

    def __init__(self, limit_s: float = TIMEOUT_S) -> None:
        self.limit_s = limit_s
        self._waits: set[_Wait] = set()

    async def keep(self, answer: Awaitable[T], on_timeout: Callable[[], T]) -> T:
        """The result of the awaitable, or of `on_timeout` if it takes longer than the limit."""
        task = asyncio.current_task()
        assert task is not None
        wait = _Wait(task, asyncio.get_running_loop().time() + self.limit_s)
        self._waits.add(wait)
        try:
            return await answer
        except asyncio.CancelledError:
            # If something else cancelled the task as well, the cancellation takes precedence.
            if wait.is_over and task.uncancel() <= wait.cancelled_before:
                return on_timeout()
            raise
        finally:
            self._waits.discard(wait)

    def tick(self, now: float) -> None:
        for wait in [each for each in self._waits if each.ends_at <= now and not each.is_over]:
            wait.is_over = True
            wait.task.cancel()
