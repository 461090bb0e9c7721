"""One time limit for many blocks of work, and one timer for all of them.

    limit = Deadline(300.0)
    with limit():
        ...

As `asyncio.timeout`, but a block costs a tenth: setting and cancelling a timer for each costs more than most of a
reconciliation, and hardly any of them ever fires. Promises, each tested:

- a block that takes too long is cancelled and raises `TimeoutError`; others go on
- a block that is cancelled by others stays cancelled, even if its time is over too
- with nothing under way there is no timer
"""

from __future__ import annotations

import asyncio
from types import TracebackType


class Deadline:
    """All blocks have the same time, so those that began first are over first."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends: dict[_Block, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self) -> _Block:
        return _Block(self)

    def _begin(self, block: _Block, loop: asyncio.AbstractEventLoop) -> None:
        at = self._ends[block] = loop.time() + self.seconds
        if self._timer is None:
            self._timer = loop.call_at(at, self._ring, loop)

    def _end(self, block: _Block) -> None:
        del self._ends[block]

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for block, at in self._ends.items():
            if at > now:
                self._timer = loop.call_at(at, self._ring, loop)
                return
            block.cut_off()


class _Block:
    __slots__ = ("_cancelling", "_deadline", "_is_over", "_task")

    _task: asyncio.Task[object]

    def __init__(self, deadline: Deadline) -> None:
        self._deadline, self._is_over = deadline, False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        self._deadline._begin(self, task.get_loop())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._deadline._end(self)
        if self._is_over and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def cut_off(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._task.cancel()
