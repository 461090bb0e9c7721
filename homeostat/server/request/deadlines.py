"""Calls that wait, and when each must have ended.

One look at all of them a second instead of a timer each: a limit of a minute need not be kept to the millisecond, and a
timer costs a write more than its encoding does.
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
    """`tick` must be called again and again; a wait ends at the first one after its time."""

    def __init__(self, limit_s: float = TIMEOUT_S) -> None:
        self.limit_s = limit_s
        self._waits: set[_Wait] = set()

    async def keep(self, answer: Awaitable[T], late: Callable[[], T]) -> T:
        """What the awaitable gives; what `late` gives if that takes longer than the limit."""
        task = asyncio.current_task()
        assert task is not None
        wait = _Wait(task, asyncio.get_running_loop().time() + self.limit_s)
        self._waits.add(wait)
        try:
            return await answer
        except asyncio.CancelledError:
            # Somebody else may have cancelled the task as well, and then that is what happened.
            if wait.is_over and task.uncancel() <= wait.cancelled_before:
                return late()
            raise
        finally:
            self._waits.discard(wait)

    def tick(self, now: float) -> None:
        for wait in [each for each in self._waits if each.ends_at <= now and not each.is_over]:
            wait.is_over = True
            wait.task.cancel()
