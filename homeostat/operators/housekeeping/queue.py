"""A queue of names to look at. Three promises, each with a test: a name is held at most once; a name is never worked on
twice at once, and one that is added meanwhile is worked on again; work that fails is done again, later each time.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable

from homeostat.objects.errors import ApiError, ConflictError

log = logging.getLogger(__name__)

_LONGEST_S = 60.0


def backoff_s(failures: int, *, first_s: float) -> float:
    """Doubles with each failure in a row up to a minute; spread, so that what failed together is not retried so."""
    return min(_LONGEST_S, first_s * 2.0 ** min(failures - 1, 20)) * random.uniform(0.8, 1.2)  # noqa: S311


class WorkQueue:
    def __init__(self, name: str) -> None:
        self._name = name
        self._ready: asyncio.Queue[str] = asyncio.Queue()
        self._pending: set[str] = set()
        self._active: set[str] = set()
        self._failures: dict[str, int] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def add(self, key: str) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        if key not in self._pending:
            self._pending.add(key)
            if key not in self._active:
                self._ready.put_nowait(key)

    def add_all(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.add(key)

    def add_after(self, key: str, delay_s: float) -> None:
        """The earlier time wins."""
        loop = asyncio.get_running_loop()
        timer = self._timers.get(key)
        if key in self._pending or (timer is not None and timer.when() <= loop.time() + delay_s):
            return
        if timer is not None:
            timer.cancel()
        self._timers[key] = loop.call_later(delay_s, self.add, key)

    async def run(self, handle: Callable[[str], Awaitable[None]], *, workers: int) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(workers):
                    tasks.create_task(self._work(handle))
        finally:
            for timer in self._timers.values():
                timer.cancel()

    async def _work(self, handle: Callable[[str], Awaitable[None]]) -> None:
        while True:
            key = await self._ready.get()
            self._pending.discard(key)
            self._active.add(key)
            try:
                await handle(key)
            except Exception as error:
                self._retry(key, error)
            else:
                self._failures.pop(key, None)
            finally:
                self._active.discard(key)
                if key in self._pending:
                    self._ready.put_nowait(key)

    def _retry(self, key: str, error: Exception) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay_s = backoff_s(failures, first_s=0.005 if isinstance(error, ConflictError) else 0.1)
        told = {"queue": self._name, "key": key, "failures": failures, "retry_in_s": round(delay_s, 3)}
        match error:
            case ConflictError():
                log.debug("work lost a race", extra=told)
            case ApiError():
                delay_s = max(delay_s, error.retry_after_s)
                log.warning("work was refused", extra={**told, "error": error.message})
            case _:
                log.error("work failed", extra=told, exc_info=error)
        self.add_after(key, delay_s)
