"""Workers that take names from a queue and work on each. Promises, each with a test of the same name:

- a key whose work ends well is forgotten
- work that fails is retried, later each time, and no error ends a worker
- the Retry-After of a server is honoured
- closing lets running work end, and cancels what takes too long
- work that never suspends does not block the event loop

| the work ends with | retry | log |
|---|---|---|
| nothing | none; resets the backoff | none |
| `ConflictError` | backoff | debug: another writer was faster |
| any other `ApiError` | backoff, not before its `retry_after_s` | warning |
| `UnreachableError` | backoff | warning |
| any other error | backoff | error, with its traceback |

Work that has to be repeated without a failure adds its key to the queue and returns. A caller with other rules passes
`conclude`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from homeostat.client.base import UnreachableError
from homeostat.objects.errors import ApiError, ConflictError
from homeostat.runtime.control.queue import QueueClosedError, WorkQueue

log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)
_LONGEST_RETRY_AFTER_S = 300.0
_YIELD_AFTER_S = 0.005


class LostError(Exception):
    """A task that the work waited for was cancelled."""


class Workers(Generic[K]):
    """`conclude` neither waits nor raises."""

    def __init__(
        self,
        queue: WorkQueue[K],
        handle: Callable[[K], Awaitable[None]],
        *,
        name: str,
        count: int = 1,
        conclude: Callable[[K, Exception | None], None] | None = None,
    ) -> None:
        self._queue, self._handle = queue, handle
        self._name, self._count = name, count
        self._conclude = conclude or self._forget_or_retry
        self._tasks: list[asyncio.Task[None]] = []
        self._turn_began = 0.0
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._is_passing = False

    async def run(self) -> None:
        """Until `close`, or until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = [tasks.create_task(self._work()) for _ in range(self._count)]

    async def close(self, grace_s: float = 30.0) -> bool:
        """Starts no more work. Returns whether all running work ended within the grace period; cancels the rest."""
        try:
            async with asyncio.timeout(grace_s):
                await self._queue.drain()
        except TimeoutError:
            for task in self._tasks:
                task.cancel()
            return False
        return True

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while loop.time() - self._turn_began >= _YIELD_AFTER_S:
                # With a server in the same process, work may never suspend. All workers share the turns of the loop.
                await self._next_turn()
            try:
                key = await self._queue.take()
            except QueueClosedError:
                return
            try:
                await self._attempt(key)
            except Exception as error:
                self._conclude(key, error)
            else:
                self._conclude(key, None)
            finally:
                self._queue.done(key)

    async def _next_turn(self) -> None:
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        self._waiters.append(waiter)
        if not self._is_passing:
            self._is_passing = True
            loop.call_soon(self._pass_turn, loop)
        await waiter

    def _pass_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wakes one worker in each turn of the loop: if one uses up the turn, the others would wait again at once."""
        self._turn_began = loop.time()
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                break
        self._is_passing = bool(self._waiters)
        if self._is_passing:
            loop.call_soon(self._pass_turn, loop)

    async def _attempt(self, key: K) -> None:
        try:
            await self._handle(key)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # This worker was not cancelled. Raised on, it would end the worker, and the task group would not report it.
            raise LostError("what the work waited for was cancelled") from error

    def _forget_or_retry(self, key: K, error: Exception | None) -> None:
        if error is None:
            self._queue.forget(key)
            return
        asked_s = min(error.retry_after_s, _LONGEST_RETRY_AFTER_S) if isinstance(error, ApiError) else 0.0
        delay_s = self._queue.retry(key, at_least_s=asked_s)
        fields = {
            "workers": self._name,
            "key": str(key),
            "failures": self._queue.failures(key),
            "retry_in_s": round(delay_s, 3),
            "reason": str(error) or type(error).__name__,
        }
        match error:
            case ConflictError():
                log.debug("write conflict; retrying", extra=fields)
            case ApiError() | UnreachableError():
                log.warning("request refused; retrying", extra=fields)
            case _:
                log.error("work failed; retrying", extra=fields, exc_info=error)
