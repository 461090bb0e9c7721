"""A watch with a buffer: bounded, in order, and cut off when it falls behind."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.store.base import CompactedError, Store
from tests.store.contract import PODS, pod, put
from tests.store.events import SlowWatcherError, watch


async def test_a_watch_gives_history_then_what_happens(store: Store) -> None:
    await put(store, pod("a"), "1")
    await put(store, pod("b"), "1")
    async with watch(store, PODS, since=1) as events:
        await put(store, pod("c"), "1")
        seen = [(await anext(events)).record.revision for _ in range(2)]

    assert seen == [2, 3]


async def test_a_watch_waits_for_the_next_event(store: Store) -> None:
    async with watch(store, PODS, since=0) as events:
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        assert not waiting.done()
        await put(store, pod("a"), "1")

        assert (await waiting).record.revision == 1


@pytest.mark.parametrize("bound", ["number", "bytes"])
@pytest.mark.parametrize("when", ["live", "replayed"])
async def test_a_watcher_that_falls_behind_is_cut_off_and_can_resume(store: Store, bound: str, when: str) -> None:
    limits = {"max_events": 3} if bound == "number" else {"max_bytes": 3 * len(b"<1:0>")}
    if when == "replayed":
        for step in range(6):
            await put(store, pod("a"), str(step))
    async with watch(store, PODS, since=0, **limits) as events:
        if when == "live":
            for step in range(6):
                await put(store, pod("a"), str(step))
        seen = [(await anext(events)).record.revision for _ in range(3)]
        with pytest.raises(SlowWatcherError) as error:
            await anext(events)
    async with watch(store, PODS, since=error.value.last) as events:
        seen += [(await anext(events)).record.revision for _ in range(3)]

    assert error.value.last == 3
    assert seen == [1, 2, 3, 4, 5, 6]


async def test_an_event_larger_than_the_buffer_is_still_delivered(store: Store) -> None:
    async with watch(store, PODS, since=0, max_bytes=1) as events:
        await put(store, pod("a"), "large")

        assert (await anext(events)).record.value == b"<1:large>"


async def test_a_slow_watcher_delays_no_writer_and_no_other_watcher(store: Store) -> None:
    async with watch(store, PODS, since=0, max_events=1), watch(store, PODS, since=0) as quick:
        for step in range(20):
            made = await put(store, pod("a"), str(step))
            assert (await anext(quick)).record is made


async def test_a_watch_that_ends_leaves_nothing_behind(store: Store) -> None:
    async with watch(store, PODS, since=0, max_events=1) as events:
        for step in range(3):
            await put(store, pod("a"), str(step))
    await put(store, pod("a"), "later")

    assert (await anext(events)).record.revision == 1
    with pytest.raises(SlowWatcherError):
        await anext(events)


async def test_a_watch_from_forgotten_history_is_refused(store: Store) -> None:
    for step in range(3):
        await put(store, pod("a"), str(step))
    await store.compact(2)

    with pytest.raises(CompactedError):
        async with watch(store, PODS, since=1):
            pass
