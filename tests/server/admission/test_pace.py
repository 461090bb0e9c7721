from __future__ import annotations

import asyncio
import time
from itertools import pairwise

import pytest

from homeostat.server.admission.pace import CallPace, Deadlines, Room, Shares
from homeostat.server.admission.policies.policy import binding_of, policy_of
from homeostat.server.admission.registry import AdmissionRules
from homeostat.server.kinds.registry import Kind, Registry
from tests.holds import measured_turns
from tests.server.admission.hooks import binding, policy

MOST = 4


async def begun_in_turns(pace: CallPace, number: int) -> list[int]:
    begun, counts = 0, list[int]()

    async def begin() -> None:
        nonlocal begun
        await pace.turn()
        begun += 1

    calls = asyncio.gather(*(begin() for _ in range(number)))
    while not calls.done():
        counts.append(begun)
        await asyncio.sleep(0)
    return [*counts, begun]


async def test_few_calls_begin_in_one_turn_of_the_event_loop() -> None:
    counts = await begun_in_turns(CallPace(MOST), 100)
    assert counts[-1] == 100
    assert max(after - before for before, after in pairwise(counts)) <= 2 * MOST


async def test_calls_that_wait_cost_no_turn_anything() -> None:
    pace = CallPace(MOST)
    waiting = [asyncio.create_task(pace.turn()) for _ in range(8000)]
    await asyncio.sleep(0)
    async with measured_turns() as turns:
        for _ in range(100):
            await asyncio.sleep(0)
    # Woken in every turn, they would take 40 ms in each.
    assert turns.longest_s < 0.02
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert (await begun_in_turns(pace, 3))[-1] == 3


async def test_few_calls_time_out_in_one_turn_of_the_event_loop() -> None:
    deadlines, ended, counts = Deadlines(MOST), 0, list[int]()

    async def wait() -> None:
        nonlocal ended
        with pytest.raises(TimeoutError):
            async with deadlines.within(0.01):
                await asyncio.sleep(60)
        ended += 1

    calls = asyncio.gather(*(wait() for _ in range(100)))
    while not calls.done():
        counts.append(ended)
        await asyncio.sleep(0)
    assert ended == 100
    assert max(after - before for before, after in pairwise([*counts, ended])) <= 2 * MOST


async def test_a_deadline_ends_no_call_that_is_done_and_hides_no_cancellation() -> None:
    deadlines = Deadlines(MOST)
    async with deadlines.within(0.01):
        pass
    await asyncio.sleep(0.05)

    async def wait() -> None:
        async with deadlines.within(30):
            await asyncio.sleep(60)

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_large_bodies_wait_for_room_and_a_cancelled_one_gives_its_place_on() -> None:
    room, entered, may_leave = Room(20), list[int](), asyncio.Event()

    async def send(number: int) -> None:
        async with room.place("a") as take:
            take(6)
            entered.append(number)
            await may_leave.wait()

    tasks = [asyncio.create_task(send(number)) for number in range(6)]
    for _ in range(10):
        await asyncio.sleep(0)
    assert entered == [0, 1]
    assert room.total == 12
    tasks[0].cancel()
    tasks[2].cancel()
    may_leave.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert sorted(entered) == [0, 1, 3, 4, 5]
    assert room.total == 0


async def test_bodies_for_a_host_that_never_answers_leave_room_for_others() -> None:
    room, entered, may_leave = Room(20), list[str](), asyncio.Event()

    async def send(host: str) -> None:
        async with room.place(host) as take:
            take(5)
            entered.append(host)
            await may_leave.wait()

    tasks = [asyncio.create_task(send(host)) for host in "aaaaab"]
    for _ in range(10):
        await asyncio.sleep(0)
    assert entered == ["a", "a", "b"]
    may_leave.set()
    await asyncio.gather(*tasks)
    assert (len(entered), room.total) == (6, 0)


async def test_each_sender_of_large_answers_may_take_what_all_leave_free() -> None:
    shares, taken, may_end = Shares(60), list[str](), asyncio.Event()

    async def receive(owner: str) -> None:
        with shares.share(owner) as share:
            await share.take(10)
            taken.append(owner)
            await may_end.wait()

    tasks = [asyncio.create_task(receive(owner)) for owner in "aaaaaabbb"]
    for _ in range(3):
        await asyncio.sleep(0)
    assert sorted(taken) == ["a", "a", "a", "b"]
    tasks[3].cancel()
    may_end.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (len(taken), shares.total) == (8, 0)


def test_the_bindings_of_thousands_of_policies_are_found_in_little_time() -> None:
    kinds = Registry()
    rules = AdmissionRules(kinds)
    kind = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
    for at in range(3000):
        rules._policies[f"p{at}"] = policy_of(policy({"expression": "true"}, name=f"p{at}"))
        rules._bindings[f"b{at}"] = binding_of(binding(f"b{at}", f"p{at}"))
    began = time.thread_time()
    found = rules.interested(kind, "", "CREATE")
    assert time.thread_time() - began < 0.3, "each policy against each binding takes seconds"
    assert len(found.policies) == 3000
