"""The promises of the work queue, in virtual time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest
import uvloop

from homeostat.objects.time.backoff import Backoff
from homeostat.runtime.control.queue import PATIENCE, Priority, QueueClosedError, WorkQueue
from homeostat.testing.clock import virtual_time


def plain_queue() -> WorkQueue[str]:
    return WorkQueue(backoff=Backoff(first_s=1, cap_s=60, spread=0.5), chance=lambda: 0.0)


def now() -> float:
    return asyncio.get_running_loop().time()


async def take_all(queue: WorkQueue[str]) -> list[str]:
    """What can be taken at this moment, in order; each is done at once."""
    taken = []
    while queue.depth:
        taken.append(await queue.take())
        queue.done(taken[-1])
    return taken


@virtual_time
async def test_a_key_is_held_once_however_often_it_is_added() -> None:
    queue = plain_queue()
    for key in ("web", "db", "web", "web"):
        queue.add(key)
    assert await take_all(queue) == ["web", "db"]
    assert queue.adds == 4


@virtual_time
async def test_a_key_being_worked_on_is_held_until_done() -> None:
    queue = plain_queue()
    queue.add("web")
    assert await queue.take() == "web"
    queue.add("web")
    queue.add("web")
    assert (queue.depth, queue.delayed, queue.working) == (0, 1, 1)
    queue.done("web")
    assert await take_all(queue) == ["web"]


@virtual_time
async def test_a_taker_gets_a_key_that_was_held_when_its_work_ends() -> None:
    queue = plain_queue()
    queue.add("web")
    await queue.take()
    queue.add("web")
    async with asyncio.TaskGroup() as group:
        taker = group.create_task(queue.take())
        await asyncio.sleep(5)
        assert not taker.done()
        queue.done("web")
    assert taker.result() == "web"


@virtual_time
async def test_of_two_times_the_earlier_one_wins() -> None:
    queue = plain_queue()
    queue.add("web", after_s=10)
    queue.add("web", after_s=3)
    queue.add("web", after_s=7)
    assert await queue.take() == "web"
    assert now() == 3
    queue.done("web")
    await asyncio.sleep(60)
    assert queue.depth == 0


@virtual_time
async def test_a_key_wanted_now_does_not_come_again_later() -> None:
    queue = plain_queue()
    queue.add("web", after_s=10)
    queue.add("web")
    assert await take_all(queue) == ["web"]
    await asyncio.sleep(60)
    assert await take_all(queue) == []


@virtual_time
async def test_a_later_time_given_while_it_is_worked_on_counts_from_then() -> None:
    queue = plain_queue()
    queue.add("web")
    await queue.take()
    queue.add("web", after_s=10)
    await asyncio.sleep(4)
    queue.done("web")
    assert queue.depth == 0
    await queue.take()
    assert now() == 10


@virtual_time
async def test_delayed_keys_come_in_the_order_of_their_times() -> None:
    queue = plain_queue()
    for key, after_s in {"c": 3.0, "a": 1.0, "b": 2.0}.items():
        queue.add(key, after_s=after_s)
    assert [(await queue.take(), now()) for _ in range(3)] == [("a", 1), ("b", 2), ("c", 3)]


@virtual_time
async def test_an_earlier_key_wakes_a_taker_that_waits_for_a_later_one() -> None:
    queue = plain_queue()
    queue.add("late", after_s=100)
    async with asyncio.TaskGroup() as group:
        taker = group.create_task(queue.take())
        await asyncio.sleep(1)
        queue.add("soon", after_s=2)
    assert (taker.result(), now()) == ("soon", 3)


@virtual_time
async def test_a_change_overtakes_a_relist() -> None:
    queue = plain_queue()
    for number in range(1000):
        queue.add(f"old-{number}", priority=Priority.RESYNC)
    queue.add("fresh")
    queue.add("old-999")
    assert (await take_all(queue))[:3] == ["fresh", "old-999", "old-0"]


@virtual_time
async def test_a_change_waits_for_one_of_the_relist_at_most() -> None:
    queue = plain_queue()
    for number in range(1000):
        queue.add(f"old-{number}", priority=Priority.RESYNC)
    for round_ in range(200):
        queue.add(f"fresh-{round_}")
        taken = [await queue.take()]
        if taken != [f"fresh-{round_}"]:
            taken.append(await queue.take())
        assert taken[-1] == f"fresh-{round_}"


@virtual_time
async def test_of_keys_with_several_shares_each_share_gets_its_turn() -> None:
    queue: WorkQueue[str] = WorkQueue(share=lambda key: key.partition("/")[0])
    for number in range(1000):
        queue.add(f"crowd/{number}", priority=Priority(number % 2))
    queue.add("crowd/1")
    for key in ("shop/a", "shop/b", "bank/a"):
        queue.add(key)
    queue.add("shop/c", priority=Priority.RESYNC)
    taken = await take_all(queue)
    assert taken[:5] == ["crowd/0", "shop/a", "bank/a", "crowd/2", "shop/b"]
    assert taken.index("shop/c") < 2 * PATIENCE + 2
    crowd = [int(key.partition("/")[2]) for key in taken if key.startswith("crowd/")]
    assert sorted(crowd) == list(range(1000))
    assert [each for each in crowd if each % 2 == 0 or each == 1] == [*range(0, 1000, 2), 1]


@virtual_time
async def test_the_turns_of_very_many_shares_take_little_time() -> None:
    queue: WorkQueue[int] = WorkQueue(share=lambda key: key)
    for number in range(40_000):
        queue.add(number)
    began = time.thread_time()
    for number in range(40_000):
        assert await queue.take() == number
    assert time.thread_time() - began < 0.4, "finding the first one among those taken would take 0.7 s"


@virtual_time
async def test_a_relist_is_not_starved_by_changes() -> None:
    queue = plain_queue()
    for number in range(10):
        queue.add(f"old-{number}", priority=Priority.RESYNC)
    taken = []
    for number in range(200):
        queue.add(f"fresh-{number}-a")
        queue.add(f"fresh-{number}-b")
        taken.append(await queue.take())
    places = [at for at, key in enumerate(taken) if key.startswith("old")]
    assert places == [(PATIENCE + 1) * (number + 1) - 1 for number in range(10)]


@virtual_time
async def test_work_for_later_is_a_resync_by_default() -> None:
    queue = plain_queue()
    queue.add("periodic", after_s=5)
    queue.add("urgent", after_s=5, priority=Priority.CHANGE)
    await asyncio.sleep(5)
    assert await take_all(queue) == ["urgent", "periodic"]


@virtual_time
async def test_a_retry_backs_off_and_keeps_its_priority() -> None:
    queue = plain_queue()
    queue.add("web")
    queue.add("old", priority=Priority.RESYNC)
    for delay_s in (1, 2, 4, 8):
        await queue.take()
        assert queue.retry("web") == delay_s
        queue.done("web")
        await asyncio.sleep(delay_s - 0.5)
        assert queue.depth == 1
        await asyncio.sleep(0.5)
        assert queue.depth == 2
    assert await take_all(queue) == ["web", "old"]
    assert (queue.retries, queue.failures("web")) == (4, 4)


@virtual_time
async def test_a_change_does_not_wait_for_the_backoff() -> None:
    queue = plain_queue()
    queue.add("web")
    await queue.take()
    queue.retry("web")
    queue.done("web")
    queue.add("web")
    assert await take_all(queue) == ["web"]


@virtual_time
async def test_the_backoff_is_spread_by_chance() -> None:
    queue: WorkQueue[str] = WorkQueue(backoff=Backoff(first_s=1, spread=0.5), chance=lambda: 0.5)
    queue.add("web")
    await queue.take()
    assert queue.retry("web") == 0.75


@virtual_time
async def test_forgetting_resets_the_backoff() -> None:
    queue = plain_queue()
    delays = []
    for is_good in (False, False, True, False):
        queue.add("web")
        await queue.take()
        if is_good:
            queue.forget("web")
        else:
            delays.append(queue.retry("web"))
        queue.done("web")
    assert delays == [1, 2, 1]


@virtual_time
async def test_closing_releases_the_takers_and_hands_out_nothing_more() -> None:
    queue = plain_queue()
    queue.add("later", after_s=10)
    takers = [asyncio.create_task(queue.take()) for _ in range(3)]
    await asyncio.sleep(1)
    queue.close()
    ended = await asyncio.gather(*takers, return_exceptions=True)
    assert [type(each) for each in ended] == [QueueClosedError] * 3
    queue.add("web")
    assert (queue.depth, queue.delayed) == (0, 0)
    with pytest.raises(QueueClosedError):
        await queue.take()
    assert now() == 1


@virtual_time
async def test_draining_waits_for_the_work_that_runs() -> None:
    queue = plain_queue()
    queue.add("web")
    queue.add("db")
    await queue.take()

    async def work() -> None:
        await asyncio.sleep(4)
        queue.retry("web")
        queue.done("web")

    async with asyncio.TaskGroup() as group:
        group.create_task(work())
        await queue.drain()
        assert now() == 4
    await queue.drain()
    assert (queue.depth, queue.working) == (0, 0)


@virtual_time
async def test_a_taker_that_is_cancelled_as_it_is_woken_passes_the_key_on() -> None:
    queue = plain_queue()
    first, second = asyncio.create_task(queue.take()), asyncio.create_task(queue.take())
    await asyncio.sleep(1)
    queue.add("web")
    first.cancel()
    assert await second == "web"
    assert first.cancelled()


@virtual_time
async def test_a_taker_that_is_cancelled_as_it_waits_takes_nothing() -> None:
    queue = plain_queue()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(queue.take(), 1)
    queue.add("web")
    assert await queue.take() == "web"


@virtual_time
async def test_workers_share_the_keys() -> None:
    queue = plain_queue()
    running: set[str] = set()
    finished: list[str] = []

    async def work() -> None:
        while True:
            key = await queue.take()
            assert key not in running
            running.add(key)
            await asyncio.sleep(1)
            running.discard(key)
            finished.append(key)
            queue.done(key)

    workers = [asyncio.create_task(work()) for _ in range(4)]
    for number in range(8):
        queue.add(f"key-{number}")
    await asyncio.sleep(0.5)
    queue.add("key-0")
    await asyncio.sleep(3)
    assert now() == 3.5
    assert sorted(finished) == sorted([f"key-{number}" for number in range(8)] + ["key-0"])
    queue.close()
    await asyncio.gather(*workers, return_exceptions=True)


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_real_loops_keep_the_times_too(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def taken() -> list[str]:
        queue = plain_queue()
        waiting = [asyncio.create_task(queue.take()) for _ in range(3)]
        await asyncio.sleep(0)
        for key, after_s in {"c": 0.02, "b": 0.01, "a": 0.0001}.items():
            queue.add(key, after_s=after_s)
        return [await each for each in waiting]

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(taken()) == ["a", "b", "c"]


@virtual_time
async def test_how_long_keys_wait_is_known() -> None:
    queue = plain_queue()
    assert queue.oldest_wait_s == 0
    queue.add("web", after_s=2)
    queue.add("db")
    await asyncio.sleep(5)
    assert (queue.depth, queue.delayed, queue.oldest_wait_s) == (2, 0, 5)
    await take_all(queue)
    assert (queue.takes, queue.waited_s) == (2, 8)


@virtual_time
async def test_what_is_kept_does_not_grow_with_the_times_a_key_comes_sooner() -> None:
    queue = plain_queue()
    for _ in range(5_000):
        queue.add("web", after_s=600)
        queue.add("db", after_s=600, priority=Priority.RESYNC)
        queue.add("db", priority=Priority.RESYNC)
        queue.add("db")
        queue.add("web")
        for _ in range(2):
            queue.done(await queue.take())
    assert len(queue._later) + sum(map(len, queue._ready)) < 600
