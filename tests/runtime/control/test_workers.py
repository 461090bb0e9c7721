"""The promises of the workers, in virtual time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from homeostat.client.base import UnreachableError
from homeostat.objects.errors import ApiError, ConflictError, TooManyRequestsError, UnavailableError
from homeostat.objects.time.backoff import Backoff
from homeostat.runtime.control.queue import WorkQueue
from homeostat.runtime.control.workers import Workers
from homeostat.testing.clock import VirtualLoop, virtual_time


def now() -> float:
    return asyncio.get_running_loop().time()


@asynccontextmanager
async def working(
    handle: Callable[[str], Awaitable[None]], *, count: int = 1
) -> AsyncIterator[tuple[WorkQueue[str], Workers[str]]]:
    queue: WorkQueue[str] = WorkQueue(backoff=Backoff(first_s=1, cap_s=60), chance=lambda: 0.0)
    workers = Workers(queue, handle, name="test", count=count)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(workers.run())
        yield queue, workers
        await workers.close()


class Script:
    """Work that fails as it is told, then succeeds; remembers when it was tried."""

    def __init__(self, *failures: BaseException) -> None:
        self._failures = list(failures)
        self.tried_at: list[float] = []

    async def __call__(self, key: str) -> None:
        self.tried_at.append(now())
        if self._failures:
            raise self._failures.pop(0)


@virtual_time
async def test_a_key_whose_work_ends_well_is_forgotten() -> None:
    script = Script(RuntimeError("once"))
    async with working(script) as (queue, _):
        queue.add("web")
        await asyncio.sleep(10)
        assert (queue.failures("web"), queue.depth, queue.delayed, queue.working) == (0, 0, 0, 0)
    assert script.tried_at == [0, 1]


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (ConflictError("changed since"), "DEBUG"),
        (ApiError("broken"), "WARNING"),
        (UnreachableError("nobody listens"), "WARNING"),
        (RuntimeError("a mistake of ours"), "ERROR"),
        (TimeoutError(), "ERROR"),
        (asyncio.CancelledError(), "ERROR"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value,
)
def test_work_that_fails_is_retried_later_each_time_and_no_error_ends_a_worker(
    error: BaseException, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    script = Script(error, error, error)

    @virtual_time
    async def fail() -> None:
        async with working(script) as (queue, _):
            queue.add("web")
            await asyncio.sleep(10)
            queue.add("web")
            await asyncio.sleep(1)

    with caplog.at_level(logging.DEBUG, logger="homeostat.runtime.control.workers"):
        fail()
    assert script.tried_at == [0, 1, 3, 7, 10]
    assert [record.levelname for record in caplog.records] == [level] * 3
    assert [record.exc_info is not None for record in caplog.records] == [level == "ERROR"] * 3


@pytest.mark.parametrize(
    ("error", "tried_again_at"),
    [
        (TooManyRequestsError("busy", retry_after_s=30), 30),
        (UnavailableError("starting", retry_after_s=5), 5),
        (UnavailableError("starting"), 1),
        (TooManyRequestsError("never", retry_after_s=86_400), 300),
    ],
    ids=["429", "503", "503 without a time", "no longer than is sensible"],
)
def test_the_retry_after_of_a_server_is_honoured(error: ApiError, tried_again_at: float) -> None:
    script = Script(error)

    @virtual_time
    async def ask() -> None:
        async with working(script) as (queue, _):
            queue.add("web")
            await asyncio.sleep(1000)

    ask()
    assert script.tried_at == [0, tried_again_at]


@virtual_time
async def test_as_many_keys_are_worked_on_at_once_as_there_are_workers() -> None:
    finished: list[tuple[str, float]] = []

    async def handle(key: str) -> None:
        await asyncio.sleep(10)
        finished.append((key, now()))

    async with working(handle, count=2) as (queue, _):
        for key in ("a", "b", "c"):
            queue.add(key)
        await asyncio.sleep(30)
    assert finished == [("a", 10), ("b", 10), ("c", 20)]


@virtual_time
async def test_closing_lets_running_work_end() -> None:
    finished: list[str] = []

    async def handle(key: str) -> None:
        await asyncio.sleep(10)
        finished.append(key)

    async with working(handle) as (queue, workers):
        queue.add("running")
        queue.add("waiting")
        await asyncio.sleep(1)
        assert await workers.close()
        assert now() == 10
    assert finished == ["running"]


@virtual_time
async def test_closing_cancels_what_takes_too_long() -> None:
    async def handle(key: str) -> None:
        await asyncio.sleep(3600)

    async with working(handle, count=4) as (queue, workers):
        queue.add("web")
        await asyncio.sleep(1)
        assert not await workers.close(grace_s=5)
    assert now() == 6


@virtual_time
async def test_cancelled_workers_release_their_keys() -> None:
    async def handle(key: str) -> None:
        await asyncio.sleep(3600)

    queue: WorkQueue[str] = WorkQueue()
    task = asyncio.create_task(Workers(queue, handle, name="test").run())
    queue.add("web")
    await asyncio.sleep(1)
    assert queue.working == 1
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (queue.working, task.cancelled()) == (0, True)


@virtual_time
async def test_work_that_never_suspends_does_not_block_the_event_loop() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    turns_at: list[int] = []
    turns = 0

    async def take_a_millisecond(key: str) -> None:
        loop.advance(0.001)
        turns_at.append(turns)

    async with working(take_a_millisecond, count=4) as (queue, _):
        for number in range(100):
            queue.add(str(number))
        while len(turns_at) < 100:
            await asyncio.sleep(0)
            turns += 1
    assert max(turns_at.count(each) for each in set(turns_at)) <= 10
