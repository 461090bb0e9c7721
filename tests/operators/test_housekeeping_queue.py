"""The three promises of the work queue."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from homeostat.objects.errors import ConflictError, NotFoundError
from homeostat.operators.housekeeping.queue import WorkQueue, backoff_s


async def work(queue: WorkQueue, handle: Callable[[str], Awaitable[None]], *, seconds: float = 0.05) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await queue.run(handle, workers=4)


async def test_a_name_is_held_at_most_once() -> None:
    queue = WorkQueue("test")
    seen: list[str] = []

    async def handle(key: str) -> None:
        seen.append(key)

    queue.add_all(["a", "b", "a", "a"])
    await work(queue, handle)
    assert seen == ["a", "b"]


async def test_a_name_added_while_it_is_worked_on_is_worked_on_again_and_never_twice_at_once() -> None:
    queue = WorkQueue("test")
    running, seen = 0, 0

    async def handle(key: str) -> None:
        nonlocal running, seen
        running += 1
        seen += 1
        assert running == 1
        if seen == 1:
            queue.add(key)
            queue.add(key)
        await asyncio.sleep(0.005)
        running -= 1

    queue.add("a")
    await work(queue, handle)
    assert seen == 2


@pytest.mark.parametrize("error", [ConflictError("lost"), NotFoundError("gone"), RuntimeError("bug")], ids=type)
async def test_work_that_fails_is_done_again(error: Exception) -> None:
    queue = WorkQueue("test")
    tries = 0

    async def handle(key: str) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise error

    queue.add("a")
    await work(queue, handle, seconds=0.2)
    assert tries == 2


async def test_of_two_times_the_earlier_wins() -> None:
    queue = WorkQueue("test")
    seen: list[str] = []

    async def handle(key: str) -> None:
        seen.append(key)

    queue.add_after("a", 30)
    queue.add_after("a", 0.01)
    queue.add_after("a", 60)
    await work(queue, handle)
    assert seen == ["a"]


def test_the_wait_doubles_up_to_about_a_minute() -> None:
    waits = [backoff_s(failures, first_s=0.1) for failures in (1, 2, 5, 50)]
    for wait, wanted in zip(waits, (0.1, 0.2, 1.6, 60.0), strict=True):
        assert wanted * 0.8 <= wait <= wanted * 1.2
