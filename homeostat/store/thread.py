"""A named thread for a blocking connection, which runs one job after another.

Results arrive in the event loop. A batch is one job, so a commit costs two thread switches whatever its size.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

from homeostat.store.base import StoreError

T = TypeVar("T")
C = TypeVar("C")

Done = Callable[[T | None, BaseException | None], None]


class ConnectionThread(Generic[C]):
    """`connect` runs in the thread; each job gets its result."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[Callable[[], bool]] = SimpleQueue()
        self._connection: C
        self._is_connected = False
        self._is_open = True
        # A daemon, so that a process that does not close its store can still exit. Durability does not depend on the
        # exit.
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def connect(self, make: Callable[[], C]) -> None:
        def job() -> None:
            self._connection = make()
            self._is_connected = True

        await self._answer(job)

    def post(self, job: Callable[[C], T], done: Done[T]) -> None:
        """Run `job` after the posted ones and call `done` in the event loop."""
        self._put(lambda: job(self._connection), done)

    async def run(self, job: Callable[[C], T]) -> T:
        return await self._answer(lambda: job(self._connection))

    async def close(self, finish: Callable[[C], None]) -> None:
        """End the thread after the posted jobs, and call `finish` if there is a connection."""
        try:
            if self._is_connected:
                await self.run(finish)
        finally:
            self._is_open = False
            self._jobs.put(lambda: False)
            # The thread has no jobs left, so this does not block the loop.
            self._thread.join()

    async def _answer(self, job: Callable[[], T]) -> T:
        future: asyncio.Future[T] = self._loop.create_future()

        def done(result: T | None, error: BaseException | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)  # type: ignore[arg-type]

        self._put(job, done)
        return await future

    def _put(self, job: Callable[[], T], done: Done[T]) -> None:
        if not self._is_open:
            raise StoreError("the store is closed")

        def step() -> bool:
            try:
                result = job()
            except BaseException as error:  # passed on to the event loop
                self._deliver(done, None, error)
            else:
                self._deliver(done, result, None)
            return True

        self._jobs.put(step)

    def _deliver(self, done: Done[T], result: T | None, error: BaseException | None) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(done, result, error)

    def _work(self) -> None:
        while self._jobs.get()():
            pass
