"""One time limit for many blocks; in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.runtime.control.deadline import Deadline
from homeostat.testing.clock import virtual_time


async def take(limit: Deadline, seconds: float) -> str:
    try:
        with limit():
            await asyncio.sleep(seconds)
    except TimeoutError:
        return "too long"
    return "in time"


@virtual_time
async def test_a_block_that_takes_too_long_is_cut_off_and_others_continue() -> None:
    limit = Deadline(10.0)
    took = await asyncio.gather(*(take(limit, seconds) for seconds in (1.0, 20.0, 5.0, 11.0)))
    assert took == ["in time", "too long", "in time", "too long"]
    assert asyncio.get_running_loop().time() == pytest.approx(10.0, abs=0.01)


@virtual_time
async def test_each_block_has_its_own_time() -> None:
    limit = Deadline(10.0)
    first = asyncio.create_task(take(limit, 20.0))
    await asyncio.sleep(6.0)
    second = asyncio.create_task(take(limit, 9.0))
    third = asyncio.create_task(take(limit, 11.0))
    assert [await each for each in (first, second, third)] == ["too long", "in time", "too long"]


@virtual_time
async def test_what_others_cancel_stays_cancelled() -> None:
    limit = Deadline(10.0)
    task = asyncio.create_task(take(limit, 20.0))
    await asyncio.sleep(1.0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@virtual_time
async def test_what_is_cancelled_while_its_time_is_over_stays_cancelled() -> None:
    async def stubborn() -> str:
        with limit():
            try:
                await asyncio.sleep(20.0)
            except asyncio.CancelledError:
                await asyncio.sleep(20.0)
                raise
        return "done"

    limit = Deadline(10.0)
    task = asyncio.create_task(stubborn())
    await asyncio.sleep(11.0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@virtual_time
async def test_an_error_of_the_block_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError), Deadline(10.0)():
        raise ZeroDivisionError


@virtual_time
async def test_blocks_may_be_inside_each_other() -> None:
    outer, inner = Deadline(10.0), Deadline(3.0)
    with outer():
        assert await take(inner, 5.0) == "too long"
        assert await take(inner, 1.0) == "in time"
    assert await take(outer, 9.0) == "in time"


@virtual_time
async def test_with_nothing_under_way_there_is_no_timer() -> None:
    limit = Deadline(10.0)
    await take(limit, 1.0)
    await asyncio.sleep(20.0)
    assert limit._timer is None
