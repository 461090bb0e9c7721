"""A call that waits has an end, and only its own."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.server.request.deadlines import Deadlines

LATE = "too late"


async def started(deadlines: Deadlines, answer: asyncio.Future[str]) -> asyncio.Task[str]:
    task = asyncio.ensure_future(deadlines.keep(answer, lambda: LATE))
    await asyncio.sleep(0)
    return task


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_what_ends_in_time_is_given() -> None:
    deadlines, answer = Deadlines(60), asyncio.get_running_loop().create_future()
    task = await started(deadlines, answer)
    deadlines.tick(now() + 59)
    answer.set_result("done")
    assert await task == "done"
    deadlines.tick(now() + 61)
    assert not task.cancelled()


async def test_what_takes_longer_times_out() -> None:
    deadlines, answer = Deadlines(60), asyncio.get_running_loop().create_future()
    task = await started(deadlines, answer)
    for _ in range(2):
        deadlines.tick(now() + 61)
    assert await task == LATE
    assert task.cancelling() == 0


async def test_a_caller_that_goes_away_is_no_timeout() -> None:
    deadlines, answer = Deadlines(60), asyncio.get_running_loop().create_future()
    task = await started(deadlines, answer)
    deadlines.tick(now() + 61)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_call_in_another_one_ends_with_that_one() -> None:
    deadlines, answer = Deadlines(60), asyncio.get_running_loop().create_future()

    async def outer() -> str:
        await deadlines.keep(asyncio.sleep(0, "inner"), lambda: "inner was late")
        return await deadlines.keep(answer, lambda: "inner was late")

    task = asyncio.ensure_future(deadlines.keep(outer(), lambda: LATE))
    for _ in range(3):
        await asyncio.sleep(0)
    deadlines.tick(now() + 61)
    assert await task == LATE
    assert task.cancelling() == 0
