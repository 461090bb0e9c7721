"""Work on many objects lets others run."""

from __future__ import annotations

import asyncio
import time

import pytest

from homeostat.edge.turn import TURN_S, Turn, map_concurrently
from tests.holds import measured_turns


def compute(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


async def test_a_turn_that_has_taken_its_time_lets_others_run() -> None:
    ran: list[str] = []
    turn = Turn()
    asyncio.get_running_loop().call_soon(ran.append, "other")
    await turn.pause()
    assert ran == []
    compute(2 * TURN_S)
    await turn.pause()
    assert ran == ["other"]


async def test_a_long_computation_takes_many_short_turns() -> None:
    turn = Turn()
    async with measured_turns() as turns:
        for _ in range(100):
            compute(0.001)
            await turn.pause()
    assert turns.longest_s < 0.05


async def test_others_run_between_tasks_that_share_a_turn() -> None:
    order: list[str] = []
    turn = Turn()

    async def work(name: str) -> None:
        compute(2 * TURN_S)
        await turn.pause()
        order.append(name)

    async def other() -> None:
        for _ in range(3):
            order.append("other")
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        for number in range(3):
            tasks.create_task(work(f"task {number}"))
        tasks.create_task(other())
    assert [each for each in order if each != "other"] == ["task 0", "task 1", "task 2"]
    assert order.index("task 1") - order.index("task 0") > 1


async def test_work_that_waits_runs_on_a_limited_number_at_once_and_keeps_the_order() -> None:
    running = most = 0

    async def work(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001 * (10 - number))
        running -= 1
        return number * number

    assert await map_concurrently(work, iter(range(10)), at_once=3) == [number * number for number in range(10)]
    assert most == 3


async def test_no_items_take_no_work() -> None:
    assert await map_concurrently(asyncio.sleep, [], at_once=3) == []


async def test_work_that_never_waits_leaves_turns_to_others() -> None:
    async def work(number: int) -> int:
        compute(0.0001)
        return number

    async with measured_turns() as turns:
        assert await map_concurrently(work, range(2_000), at_once=16) == list(range(2_000))
    assert turns.longest_s < 0.05, "in one turn it would take 0.2 s"


async def test_the_first_error_of_many_ends_the_rest_and_is_raised_alone() -> None:
    begun: list[int] = []

    async def work(number: int) -> int:
        begun.append(number)
        await asyncio.sleep(0)
        return 1 // (number - 1)

    with pytest.raises(ZeroDivisionError):
        await map_concurrently(work, range(1000), at_once=2)
    assert len(begun) < 10


async def test_work_in_progress_is_cancelled_with_its_caller() -> None:
    ended: list[int] = []

    async def work(number: int) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(number)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await map_concurrently(work, range(5), at_once=2)
    assert sorted(ended) == [0, 1]
