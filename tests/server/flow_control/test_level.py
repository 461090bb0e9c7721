"""Seats of priority levels: how they are divided, lent and waited for."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterable
from contextlib import suppress
from weakref import ref

import pytest

from homeostat.objects.errors import TooManyRequestsError
from homeostat.objects.flow_control import default_objects
from homeostat.server.flow_control import level as level_module
from homeostat.server.flow_control.level import FlowKey, Level, LevelSpec, level_spec_of
from homeostat.server.flow_control.seats import SEATS, Seats

_ONE: FlowKey = ("schema", "one")
_TWO: FlowKey = ("schema", "two")


def divided(total: int, **specs: LevelSpec) -> Seats:
    seats = Seats(total)
    seats.divide(specs)
    return seats


async def entered(level: Level, flow: FlowKey, order: list[str], name: str) -> None:
    if not level.enter():
        await level.turn(flow)
    order.append(name)


async def begun(level: Level, flow: FlowKey, order: list[str], names: Iterable[str]) -> list[asyncio.Task[None]]:
    tasks = [asyncio.ensure_future(entered(level, flow, order, name)) for name in names]
    await asyncio.sleep(0)
    return tasks


async def left(level: Level, times: int = 1) -> None:
    for _ in range(times):
        level.leave()
        await asyncio.sleep(0)


def test_the_default_levels_have_the_seats_of_kube_apiserver() -> None:
    levels = [each for each in default_objects() if each["kind"] == "PriorityLevelConfiguration"]
    seats = divided(SEATS, **{each["metadata"]["name"]: level_spec_of(each) for each in levels})
    assert {name: (each.lower, each.nominal) for name, each in seats.levels.items()} == {
        "catch-all": (13, 13),
        "exempt": (0, 0),
        "global-default": (24, 49),
        "leader-election": (25, 25),
        "node-high": (73, 98),
        "system": (50, 74),
        "workload-high": (49, 98),
        "workload-low": (24, 245),
    }


def test_a_level_runs_as_many_calls_as_it_has_seats() -> None:
    level = divided(4, a=LevelSpec(shares=1), b=LevelSpec(shares=1)).levels["a"]
    assert [level.enter() for _ in range(3)] == [True, True, False]


def test_a_level_borrows_what_another_lends_and_no_more_than_its_limit() -> None:
    lender = LevelSpec(shares=4, lendable_percent=50)
    levels = divided(8, lender=lender, a=LevelSpec(shares=2), b=LevelSpec(shares=2, borrowing_percent=50)).levels
    assert [levels["b"].enter() for _ in range(4)] == [True, True, True, False]
    assert [levels["a"].enter() for _ in range(4)] == [True, True, True, False]
    assert [levels["lender"].enter() for _ in range(3)] == [True, True, False]


async def test_a_level_that_rejects_says_so_and_when_to_retry() -> None:
    level = divided(1, a=LevelSpec(shares=1)).levels["a"]
    assert level.enter()
    with pytest.raises(TooManyRequestsError, match=r'priority level "a" at once \(concurrency-limit\)') as refused:
        await level.turn(_ONE)
    assert refused.value.retry_after_s == 1
    assert level.rejected == {("schema", "concurrency-limit"): 1}


async def test_flows_take_turns_whoever_has_more_calls() -> None:
    spec = LevelSpec(shares=1, most_waiting=100, most_waiting_of_flow=100)
    level, order = divided(1, a=spec).levels["a"], list[str]()
    await begun(level, _ONE, order, ["one-1", "one-2", "one-3", "one-4"])
    await begun(level, _TWO, order, ["two-1", "two-2"])
    await left(level, 6)
    assert order == ["one-1", "one-2", "two-1", "one-3", "two-2", "one-4"]
    assert (level.running, level.waiting) == (0, 0)


async def test_a_flow_cannot_fill_the_queue_of_the_others() -> None:
    spec = LevelSpec(shares=1, most_waiting=3, most_waiting_of_flow=2)
    level, order = divided(1, a=spec).levels["a"], list[str]()
    of_one = await begun(level, _ONE, order, "abcd")
    of_two = await begun(level, _TWO, order, "xy")
    for refused in (of_one[3], of_two[1]):
        with pytest.raises(TooManyRequestsError, match="queue-full"):
            await refused
    await left(level, 4)
    assert order == ["a", "b", "x", "c"]


async def test_a_lent_seat_goes_to_the_level_that_has_least_of_its_own() -> None:
    queue = LevelSpec(shares=2, lendable_percent=50, most_waiting=9, most_waiting_of_flow=9)
    seats, order = divided(4, a=queue, b=queue), list[str]()
    a, b = seats.levels["a"], seats.levels["b"]
    await begun(a, _ONE, order, ["a1", "a2", "a3", "a4"])
    await begun(b, _ONE, order, ["b1", "b2"])
    assert order == ["a1", "a2", "a3", "b1"]
    await left(a)
    assert order[4:] == ["b2"]
    await left(a)
    assert order[5:] == ["a4"]


async def test_a_cancelled_waiter_gives_its_turn_away() -> None:
    spec = LevelSpec(shares=1, most_waiting=9, most_waiting_of_flow=9)
    seats, order = divided(1, a=spec), list[str]()
    level = seats.levels["a"]
    tasks = await begun(level, _ONE, order, "abcd")
    tasks[1].cancel()
    await asyncio.sleep(0)
    level.leave()
    tasks[2].cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert order == ["a", "d"]
    await left(level)
    assert (level.running, level.waiting, seats.lent.waiting) == (0, 0, {})


async def test_a_call_that_waits_too_long_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(level_module, "MOST_WAIT_S", 0.0)
    level = divided(1, a=LevelSpec(shares=1, most_waiting=9, most_waiting_of_flow=9)).levels["a"]
    assert level.enter()
    with pytest.raises(TooManyRequestsError, match="time-out"):
        await level.turn(_ONE)
    await left(level)
    assert (level.running, level.waiting) == (0, 0)


async def test_a_call_that_is_rejected_is_freed_without_a_garbage_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(level_module, "MOST_WAIT_S", 0.0)
    level = divided(1, a=LevelSpec(shares=1, most_waiting=9, most_waiting_of_flow=9)).levels["a"]
    assert level.enter()

    class Body: ...

    async def call(body: Body) -> None:
        await level.turn(_ONE)

    body = Body()
    kept = ref(body)
    gc.disable()
    try:
        with suppress(TooManyRequestsError):
            await call(body)
        del body
        assert kept() is None
    finally:
        gc.enable()


async def test_new_seats_are_given_at_once_and_lost_ones_when_calls_end() -> None:
    spec = LevelSpec(shares=1, most_waiting=9, most_waiting_of_flow=9)
    seats, order = divided(2, a=spec, b=spec), list[str]()
    level = seats.levels["a"]
    await begun(level, _ONE, order, "ab")
    seats.divide({"a": spec})
    await asyncio.sleep(0)
    assert order == ["a", "b"]
    seats.divide({"a": spec, "b": spec})
    level.leave()
    assert not level.enter()
    level.leave()
    assert level.enter()


async def test_a_level_that_is_deleted_serves_the_calls_that_it_has() -> None:
    spec = LevelSpec(shares=1, most_waiting=9, most_waiting_of_flow=9)
    seats, order = divided(1, a=spec), list[str]()
    level = seats.levels["a"]
    await begun(level, _ONE, order, "ab")
    seats.divide({"b": spec})
    await left(level, 2)
    assert order == ["a", "b"]


async def test_a_level_that_is_deleted_returns_no_seats_to_those_that_are_left() -> None:
    lender, borrower = LevelSpec(shares=1, lendable_percent=100), LevelSpec(most_waiting=9, most_waiting_of_flow=9)
    seats, order = divided(2, lender=lender, borrower=borrower), list[str]()
    level = seats.levels["borrower"]
    await begun(level, _ONE, order, "abc")
    seats.divide({"lender": lender})
    await left(level, 3)
    assert order == ["a", "b", "c"]
    assert [seats.levels["lender"].enter() for _ in range(3)] == [True, True, False]


async def test_a_call_that_waits_in_a_deleted_level_without_seats_is_served() -> None:
    spec = LevelSpec(shares=1, most_waiting=9, most_waiting_of_flow=9)
    seats, order = divided(1, a=spec, b=LevelSpec(most_waiting=9, most_waiting_of_flow=9)), list[str]()
    assert seats.levels["a"].enter()
    await begun(seats.levels["b"], _ONE, order, "b")
    seats.divide({"a": spec})
    await asyncio.sleep(0)
    assert order == ["b"]


async def test_thousands_of_callers_of_a_flow_go_away_at_once() -> None:
    spec = LevelSpec(shares=1, most_waiting=8_000, most_waiting_of_flow=8_000)
    level, order = divided(1, one=spec).levels["one"], list[str]()
    tasks = await begun(level, _ONE, order, map(str, range(8_001)))
    began = time.thread_time()
    for task in reversed(tasks):
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (level.waiting, order) == (0, ["0"])
    assert time.thread_time() - began < 0.4
