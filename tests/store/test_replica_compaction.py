"""Replicas that forget history together, and one that missed what was forgotten."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from homeostat.store.base import CompactedError, LostError, UnwritableError
from tests.store.contract import PODS, PostgresFactory, Subscriber, pod, put, remove, replicas


async def test_what_one_replica_compacts_is_forgotten_by_all(factory: PostgresFactory) -> None:
    async with replicas(factory, 2, history_events=0) as (one, two):
        for step in range(10):
            await put(one, pod("a"), str(step))
        await two.sync()
        await one.compact(8)

        subscriber = Subscriber()
        with pytest.raises(CompactedError):
            await two.subscribe(PODS, since=3, deliver=subscriber)
        assert (subscriber.events, two.oldest) == ([], 8)
        with pytest.raises(CompactedError):
            await two.page(PODS, at=7)
        await two.subscribe(PODS, since=8, deliver=subscriber)
        assert subscriber.revisions == [9, 10]


async def test_a_following_replica_sees_compaction(factory: PostgresFactory) -> None:
    async with replicas(factory, 2) as (one, two):
        for step in range(5):
            await put(one, pod("a"), str(step))
        await two.sync()
        await one.compact(4)
        await two.sync()

        with pytest.raises(CompactedError):
            await two.subscribe(PODS, since=3, deliver=Subscriber())


async def test_a_replica_that_missed_what_was_compacted_says_so_and_serves_nothing_stale(
    factory: PostgresFactory,
) -> None:
    async with replicas(factory, 2) as (one, behind):
        for step in range(10):
            await put(one, pod("a"), str(step))
        await one.compact(8)

        with pytest.raises(LostError, match="restart this replica"):
            await behind.sync()
        with pytest.raises(UnwritableError):
            await put(behind, pod("b"), "1")
        with pytest.raises(LostError):
            await behind.maintain()
        assert "restart this replica" in behind.trouble
        again = await factory.open()
        assert (again.revision, again.oldest) == (10, 8)
        await again.close()


async def test_a_replica_does_not_step_over_what_was_made_and_deleted_and_forgotten(factory: PostgresFactory) -> None:
    async with replicas(factory, 2) as (one, behind):
        subscriber = Subscriber()
        await behind.subscribe(PODS, since=0, deliver=subscriber)
        await put(one, pod("a"), "1")
        await remove(one, pod("a"))
        await put(one, pod("b"), "1")
        await one.compact(2)

        with pytest.raises(LostError, match="revision 1 was compacted before"):
            await behind.sync()
        assert subscriber.events == []


async def test_a_replica_notices_that_an_older_state_was_restored(factory: PostgresFactory) -> None:
    async with replicas(factory, 1) as (store,):
        await put(store, pod("a"), "1")
        await put(store, pod("a"), "2")
        connection = await asyncpg.connect(factory.url, server_settings={"search_path": factory.schema})
        await connection.execute("DELETE FROM log WHERE revision = 2; DELETE FROM batch WHERE first = 2")
        await connection.close()

        with pytest.raises(LostError, match="an older state was restored"):
            await store.sync()


async def test_replicas_tidy_by_turns(factory: PostgresFactory) -> None:
    async with replicas(factory, 3) as stores:
        turns = await asyncio.gather(*(store._compaction.take_turn(every_s=60) for store in stores))
        assert sorted(turns) == [False, False, True]


async def test_history_is_kept_for_its_time_and_then_forgotten(factory: PostgresFactory) -> None:
    async with replicas(factory, 1) as (store,):
        for step in range(5):
            await put(store, pod("a"), str(step))
        await store.tidy(keep_s=60)
        assert (store.oldest, store.database_bytes > 0) == (0, True)
        await asyncio.sleep(0.02)
        await put(store, pod("a"), "later")
        await store.tidy(keep_s=0.015)
        assert store.oldest in (5, 6)
        assert [record.value for record in store.select(PODS)] == [b"<6:later>"]
