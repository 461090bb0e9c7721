"""Group commit: all changes that wait when a commit starts go into it, so throughput grows with load.

There is one batch at a time. The next one is planned when this one has settled, so a change is checked against durable
state and never against a commit that may still fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from math import inf

from homeostat.store.base import Change, Event, Record, StoreError, UncertainError, UnwritableError
from homeostat.store.log import Joint, Outcome

Begin = Callable[[Sequence[Change]], None]


class GroupCommit:
    """Calls `begin` for each batch, which must lead to one call of `settle` or `fail`.

    The values of a batch have `max_bytes` at most, unless it is a single change. The other changes wait.
    """

    __slots__ = ("_batch", "_begin", "_is_busy", "_is_idle", "_is_open", "_loop", "_max_bytes", "_waiting")

    def __init__(self, begin: Begin, *, max_bytes: float = inf) -> None:
        self._begin = begin
        self._max_bytes = max_bytes
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[Change, asyncio.Future[Record]]] = []
        self._batch: list[tuple[Change, asyncio.Future[Record]]] = []
        self._is_busy = False
        self._is_open = True
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    @property
    def is_busy(self) -> bool:
        return self._is_busy

    def submit(self, change: Change) -> asyncio.Future[Record]:
        if not self._is_open:
            raise StoreError("the store is closed")
        future: asyncio.Future[Record] = self._loop.create_future()
        self._waiting.append((change, future))
        if not self._is_busy:
            self._is_busy = True
            self._is_idle.clear()
            # Deferred, so that all writes of this turn of the loop share the commit.
            self._loop.call_soon(self._start)
        return future

    def settle(self, outcomes: Sequence[Outcome]) -> None:
        """Resolve the batch with one outcome per change, and start the next."""
        for (_, future), outcome in zip(self._batch, outcomes, strict=True):
            if future.done():
                continue
            if isinstance(outcome, Event):
                future.set_result(outcome.record)
            elif isinstance(outcome, Record):
                future.set_result(outcome)
            elif isinstance(outcome, Joint):
                main = outcome.main
                future.set_result(main.record if isinstance(main, Event) else main)
            else:
                future.set_exception(outcome)
        self._start()

    def fail(self, cause: BaseException) -> None:
        """Fail all changes of the batch and start the next."""
        for _, future in self._batch:
            if not future.done():
                # One error per caller: a shared one would collect all their tracebacks.
                error = _refusal(cause)
                error.__cause__ = cause
                future.set_exception(error)
        self._start()

    async def close(self) -> None:
        """Refuse new changes and wait for the submitted ones."""
        self._is_open = False
        await self._is_idle.wait()

    def _start(self) -> None:
        waiting = [each for each in self._waiting if not each[1].cancelled()]
        end = self._end(waiting)
        self._batch, self._waiting = waiting[:end], waiting[end:]
        if self._batch:
            self._begin([change for change, _ in self._batch])
        else:
            self._is_busy = False
            self._is_idle.set()

    def _end(self, waiting: Sequence[tuple[Change, asyncio.Future[Record]]]) -> int:
        """The size of the next batch."""
        if self._max_bytes == inf:
            return len(waiting)
        if len(waiting) <= 1:
            return len(waiting)
        size = 0
        for number, (change, _) in enumerate(waiting):
            size += len(change.draft.tail)
            if size > self._max_bytes and number:
                return number
        return len(waiting)


def _refusal(cause: BaseException) -> StoreError:
    if isinstance(cause, UncertainError):
        return UncertainError(str(cause))
    return UnwritableError(f"the database refused the commit: {cause}")
