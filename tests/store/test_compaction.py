"""Contract: history can be forgotten; current records, order and the revision's count stay."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.store.base import CompactedError, Event, Store
from tests.store.contract import PODS, StoreFactory, Subscriber, names, pod, put, remove


async def write_some(store: Store) -> None:
    """Revisions 1-10: `a` replaced four times, `b` made and deleted, `c` made once, `d` deleted and made again."""
    await put(store, pod("a"), "1")
    await put(store, pod("b"), "1")
    await put(store, pod("c"), "1")
    await put(store, pod("a"), "2")
    await remove(store, pod("b"))
    await put(store, pod("d"), "1")
    await put(store, pod("a"), "3")
    await remove(store, pod("d"))
    await put(store, pod("a"), "4")
    await put(store, pod("d"), "2")


@pytest.mark.parametrize("before", range(11))
@pytest.mark.parametrize("restart", [False, True], ids=["running", "restarted"])
async def test_after_compaction_the_kept_history_is_whole(
    store_factory: StoreFactory, before: int, restart: bool
) -> None:
    store = await store_factory.open(history_events=0)
    await write_some(store)
    pages = [await store.page(PODS, at=at) for at in range(11)]
    subscriber = Subscriber()
    await store.subscribe(PODS, since=before, deliver=subscriber)

    await store.compact(before)
    if restart:
        await store.close()
        store = await store_factory.open(history_events=0)

    assert store.oldest == before
    assert [await store.page(PODS, at=at) for at in range(before, 11)] == pages[before:]
    again = Subscriber()
    await store.subscribe(PODS, since=before, deliver=again)
    assert again.events == subscriber.events
    if before:
        with pytest.raises(CompactedError):
            await store.page(PODS, at=before - 1)
        with pytest.raises(CompactedError):
            await store.subscribe(PODS, since=before - 1, deliver=again)
    await store.close()


async def test_revisions_continue_after_everything_was_deleted_and_compacted(store_factory: StoreFactory) -> None:
    store = await store_factory.open()
    for name in "abc":
        await put(store, pod(name), "1")
    for name in "abc":
        await remove(store, pod(name))
    await store.compact(store.revision)
    await store.close()
    store = await store_factory.open()

    assert (store.revision, store.oldest, list(store.select(PODS))) == (6, 6, [])
    assert (await put(store, pod("d"), "1")).revision == 7
    await store.close()


async def test_revisions_continue_after_a_restart(store_factory: StoreFactory) -> None:
    for expected in (1, 2, 3):
        store = await store_factory.open()
        assert (await put(store, pod("a"), str(expected))).revision == expected
        await store.close()


async def test_compaction_beyond_the_newest_revision_stops_there(store: Store) -> None:
    await write_some(store)
    await store.compact(1000)

    assert (store.oldest, store.revision) == (10, 10)
    assert names(store.select(PODS)) == ["default/a", "default/c", "default/d"]


async def test_compaction_never_goes_back(store: Store) -> None:
    await write_some(store)
    await store.compact(8)
    await store.compact(3)

    assert store.oldest == 8


async def test_writers_and_watchers_continue_during_compaction(store: Store) -> None:
    subscriber = Subscriber()
    await store.subscribe(PODS, since=0, deliver=subscriber)

    async def write() -> None:
        for step in range(300):
            await put(store, pod(str(step % 3)), str(step))

    async def compact() -> None:
        for _ in range(60):
            await store.compact(store.revision)

    await asyncio.gather(write(), write_other(store), compact())

    assert subscriber.revisions == list(range(1, 601))


async def write_other(store: Store) -> None:
    for step in range(150):
        await put(store, pod("other"), str(step))
        await remove(store, pod("other"))


async def test_a_replay_that_compaction_overtakes_is_refused_and_never_has_a_hole(store_factory: StoreFactory) -> None:
    store = await store_factory.open(history_events=0)
    for start in range(0, 1000, 100):
        await asyncio.gather(*(put(store, pod(str(each)), str(start)) for each in range(100)))
    subscriber = Subscriber()
    begun = asyncio.Event()

    def deliver(event: Event) -> None:
        subscriber(event)
        begun.set()

    replaying = asyncio.ensure_future(store.subscribe(PODS, since=0, deliver=deliver))
    await begun.wait()
    await store.compact(store.revision)

    with pytest.raises(CompactedError):
        await replaying
    assert subscriber.revisions == list(range(1, len(subscriber.events) + 1))
    await store.close()
