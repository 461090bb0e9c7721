"""A computation over many objects lets others run."""

from __future__ import annotations

import asyncio
import time

from homeostat.edge.turn import TURN_S, Turn
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
