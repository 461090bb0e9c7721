"""Virtual time, on which the tests here rely."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.testing.clock import NothingLeftError, run_virtually, virtual_time


def test_hours_pass_at_once() -> None:
    async def sleep() -> float:
        await asyncio.sleep(100 * 3600)
        return asyncio.get_running_loop().time()

    assert run_virtually(sleep()) == 360_000


@virtual_time
async def test_sleepers_wake_in_the_order_of_their_times() -> None:
    woken: list[float] = []

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds)
        woken.append(asyncio.get_running_loop().time())

    async with asyncio.TaskGroup() as group:
        for seconds in (3, 0.5, 2, 0.1):
            group.create_task(sleep(seconds))
    assert woken == [0.1, 0.5, 2, 3]


def test_waiting_for_ever_is_an_error() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    with pytest.raises(NothingLeftError):
        run_virtually(wait())
