"""Room for so many calls at once, and a queue for the rest."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.objects.errors import TooManyRequestsError
from homeostat.server.request.in_flight import InFlight, Lane, ObjectLanes
from homeostat.store.base import Key


async def entered(lane: Lane, order: list[str], name: str) -> None:
    if not lane.enter():
        await lane.turn()
    order.append(name)


async def begun(lane: Lane, order: list[str], names: str) -> list[asyncio.Task[None]]:
    tasks = [asyncio.ensure_future(entered(lane, order, name)) for name in names]
    await asyncio.sleep(0)
    return tasks


async def test_calls_beyond_the_limit_are_served_in_order() -> None:
    lane, order = Lane("writes", 2, 10), list[str]()
    await begun(lane, order, "abcd")
    assert order == ["a", "b"]
    for _ in range(2):
        lane.leave()
        await asyncio.sleep(0)
    assert order == ["a", "b", "c", "d"]


async def test_finished_calls_free_their_places() -> None:
    lane, order = Lane("writes", 2, 10), list[str]()
    await begun(lane, order, "abc")
    for _ in range(3):
        lane.leave()
    assert [lane.enter() for _ in range(3)] == [True, True, False]


async def test_a_full_queue_refuses_and_says_when_to_retry() -> None:
    lane, order = Lane("writes", 1, 2), list[str]()
    tasks = await begun(lane, order, "abcd")
    with pytest.raises(TooManyRequestsError, match="too many writes at once") as refused:
        await tasks[3]
    assert refused.value.retry_after_s == 1


async def test_a_cancelled_waiter_is_skipped() -> None:
    lane, order = Lane("writes", 1, 10), list[str]()
    tasks = await begun(lane, order, "abc")
    tasks[1].cancel()
    await asyncio.sleep(0)
    lane.leave()
    await asyncio.sleep(0)
    assert order == ["a", "c"]


async def test_a_waiter_cancelled_at_its_turn_passes_its_place_on() -> None:
    lane, order = Lane("writes", 1, 10), list[str]()
    tasks = await begun(lane, order, "abc")
    lane.leave()
    tasks[1].cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert order == ["a", "c"]


def test_reads_and_writes_have_room_of_their_own() -> None:
    rooms = InFlight(most_reads=1, most_writes=1)
    assert rooms.lane("create").enter()
    assert rooms.lane("list").enter()
    assert not rooms.lane("patch").enter()
    assert not rooms.lane("get").enter()


async def test_a_waiter_that_was_skipped_before_it_noticed_ends_as_cancelled() -> None:
    lane, order = Lane("writes", 1, 10), list[str]()
    tasks = await begun(lane, order, "ab")
    tasks[1].cancel()
    lane.leave()
    await asyncio.wait(tasks)
    assert tasks[1].cancelled()
    assert lane.enter()


async def test_few_writes_of_one_object_run_at_once_and_others_are_free() -> None:
    lanes, one, other = ObjectLanes(1, 10), Key("configmaps", "shop", "a"), Key("configmaps", "shop", "b")
    assert [lanes.enter(one), lanes.enter(other), lanes.enter(one)] == [True, True, False]
    waiting = asyncio.ensure_future(lanes.turn(one))
    given_up = asyncio.ensure_future(lanes.turn(one))
    await asyncio.sleep(0)
    lanes.leave(one)
    await waiting
    given_up.cancel()
    lanes.leave(one)
    lanes.leave(other)
    await asyncio.wait([given_up])
    assert not len(lanes), "an object that nobody changes takes no memory"
