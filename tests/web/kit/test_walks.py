"""Walks of many requests share the event loop with everybody else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing

import pytest

from homeostat.web.kit.walks import Walks
from tests.holds import measured_turns


@pytest.mark.parametrize("count", [0, 1, 49, 50, 51, 100, 1234])
async def test_a_walk_yields_every_value_in_order(count: int) -> None:
    assert [each async for each in Walks().over(iter(range(count)))] == list(range(count))


def costly(count: int) -> Iterator[int]:
    for at in range(count):
        sum(range(200))
        yield at


async def test_many_walks_at_once_take_one_slice_a_turn() -> None:
    walks = Walks()

    async def walk() -> int:
        return sum([1 async for _ in walks.over(costly(4000))])

    async with measured_turns() as turns:
        found = await asyncio.gather(*(walk() for _ in range(20)))
    assert found == [4000] * 20
    assert turns.longest_s < 0.03


async def test_a_walk_that_ends_early_leaves_the_turn_to_others() -> None:
    walks = Walks()
    async with aclosing(walks.over(range(1000))) as walked:
        first = [each async for each in walked if each == 200][:1]
    assert (first, [each async for each in walks.over("ab")]) == ([200], ["a", "b"])
