"""A database that was set back: a standby took over that lacked the newest commits, or an older state was restored.

What was shown cannot be unseen. So nothing is committed on top of it, and whoever has shown it leads the revisions
beyond it, by which every client lists anew.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from homeostat.store.backup.backup import back_up
from homeostat.store.base import CompactedError, LostError, UnwritableError
from homeostat.store.postgres import PostgresStore
from homeostat.store.postgres.database import Database
from homeostat.store.postgres.transfer import PostgresSource
from tests.store.contract import PODS, PostgresFactory, Subscriber, names, pod, put, replicas


async def set_back(tables: Any, revision: int) -> None:
    await tables.execute(f"DELETE FROM log WHERE revision > {revision}; DELETE FROM batch WHERE first > {revision}")


async def written(store: PostgresStore, count: int) -> None:
    for step in range(count):
        await put(store, pod("a"), str(step))


async def follow_until_lost(store: PostgresStore) -> None:
    async with asyncio.timeout(30):
        with pytest.raises(LostError, match="an older state was restored; restart this replica"):
            await store.maintain(poll_s=0.05)


async def test_nothing_is_committed_on_top_of_what_was_lost(factory: PostgresFactory, tables: Any) -> None:
    async with replicas(factory, 1) as (store,):
        await written(store, 5)
        await set_back(tables, 3)

        with pytest.raises(UnwritableError, match="an older state was restored"):
            await put(store, pod("b"), "on top")
        assert await tables.fetchval("SELECT max(revision) FROM log") == 3


@pytest.mark.parametrize("rewritten", [4, 5, 6, 20], ids=lambda count: f"up-to-{count}")
@pytest.mark.parametrize("how", ["read", "write"])
async def test_a_different_history_with_the_same_revisions_is_recognised(
    factory: PostgresFactory, tables: Any, rewritten: int, how: str
) -> None:
    async with replicas(factory, 1) as (store,):
        await written(store, 5)
        await set_back(tables, 3)
        other = await factory.open()
        for step in range(rewritten - 3):
            await put(other, pod("theirs"), str(step))
        subscriber = Subscriber()
        await store.subscribe(PODS, since=5, deliver=subscriber)

        if how == "read":
            with pytest.raises(LostError, match="an older state was restored"):
                await store.sync()
        else:
            with pytest.raises(UnwritableError, match="an older state was restored"):
                await put(store, pod("b"), "on top")
        assert (subscriber.events, store.get(pod("theirs"))) == ([], None)
        assert await other.sync() == rewritten
        await other.close()


async def test_a_history_in_other_batches_is_recognised_too(factory: PostgresFactory, tables: Any) -> None:
    async with replicas(factory, 1) as (store,):
        await written(store, 5)
        await set_back(tables, 3)
        other = await factory.open()
        await asyncio.gather(*(put(other, pod(name), "1") for name in "xyz"))
        assert await tables.fetchval("SELECT count(*) FROM batch WHERE first = 5") == 0

        with pytest.raises(LostError, match="an older state was restored"):
            await store.sync()
        await other.close()


@pytest.mark.parametrize("rewritten", [3, 4, 20], ids=["nothing-since", "less-than-was-shown", "more"])
async def test_revisions_continue_beyond_what_was_shown_and_every_watch_starts_again(
    factory: PostgresFactory, tables: Any, rewritten: int
) -> None:
    async with replicas(factory, 1) as (store,):
        await written(store, 5)
        await set_back(tables, 3)
        other = await factory.open()
        for step in range(rewritten - 3):
            await put(other, pod("theirs"), str(step))
        await follow_until_lost(store)
        await other.close()

        again = await factory.open()
        newest = max(5, rewritten)
        assert again.oldest == again.revision == newest + 1
        for since in (3, 5, newest):
            with pytest.raises(CompactedError):
                await again.subscribe(PODS, since=since, deliver=Subscriber())
        assert names(again.select(PODS)) == ["default/a", *["default/theirs"] * (rewritten > 3)]
        assert (await put(again, pod("b"), "after")).revision == newest + 2
        await again.close()


async def test_a_jump_of_revisions_is_no_long_way_back(factory: PostgresFactory, tables: Any) -> None:
    """As after a restored backup."""
    await (await factory.open()).close()
    await tables.execute("INSERT INTO batch SELECT 1, 3000000000, gen_random_uuid(), 0, now()")
    async with replicas(factory, 1) as (store,):
        await written(store, 2)
        await set_back(tables, 0)
        await follow_until_lost(store)

        assert await tables.fetchval("SELECT swept FROM sweep") == 3_000_000_003


async def test_one_fence_serves_all_who_have_shown_what_was_lost(factory: PostgresFactory, tables: Any) -> None:
    async with replicas(factory, 3) as stores:
        await written(stores[0], 5)
        await asyncio.gather(*(store.sync() for store in stores))
        await set_back(tables, 3)
        for store in stores:
            with pytest.raises(LostError):
                await store.sync()
        await follow_until_lost(stores[0])
        again = await factory.open()
        for store in stores[1:]:
            await follow_until_lost(store)

        assert await again.sync() == 6
        await again.close()


async def test_a_fence_waits_for_the_commit_under_way(factory: PostgresFactory, tables: Any) -> None:
    async with replicas(factory, 1) as (store,):
        await written(store, 5)
        await set_back(tables, 3)
        section = Database(factory.url, factory.schema).section
        await tables.fetchval("SELECT pg_advisory_lock($1)", section)
        following = asyncio.ensure_future(follow_until_lost(store))
        await asyncio.sleep(0.5)
        assert await tables.fetchval("SELECT compacted FROM mark") == 0
        await tables.execute("INSERT INTO batch SELECT 4, 4, gen_random_uuid(), 1, now()")
        await tables.fetchval("SELECT pg_advisory_unlock($1)", section)
        await following

        assert await tables.fetch("SELECT first, last FROM batch ORDER BY first") == [(5, 6)]


async def test_a_replica_that_had_not_seen_what_was_lost_cannot_follow_over_the_fence(
    factory: PostgresFactory, tables: Any
) -> None:
    async with replicas(factory, 2) as (store, behind):
        await written(store, 3)
        await behind.sync()
        await written(store, 2)
        await set_back(tables, 3)
        await follow_until_lost(store)

        with pytest.raises(LostError, match="restart this replica"):
            await behind.sync()


@pytest.mark.parametrize("rewritten", [0, 1, 3], ids=["nothing-since", "one-commit-since", "more"])
async def test_a_replica_that_has_shown_the_revision_of_the_fence_is_lost_too(
    factory: PostgresFactory, tables: Any, rewritten: int
) -> None:
    """The first to notice did not know the last commit, so its fence is the revision that the other has shown."""
    async with replicas(factory, 2) as (store, ahead):
        await written(ahead, 4)
        await store.sync()
        await written(ahead, 1)
        await set_back(tables, 3)
        await follow_until_lost(store)
        again = await factory.open()
        assert again.revision == ahead.revision == 5
        for step in range(rewritten):
            await put(again, pod("theirs"), str(step))
        await follow_until_lost(ahead)

        assert ahead.get(pod("theirs")) is None
        assert await tables.fetchval("SELECT compacted FROM mark") == 6 + rewritten
        await again.close()


async def test_a_rolled_back_database_can_be_backed_up(factory: PostgresFactory, tables: Any, tmp_path: Path) -> None:
    async with replicas(factory, 1) as (store,):
        await written(store, 1200)
        await set_back(tables, 1100)
        await follow_until_lost(store)
    async with PostgresSource.open(factory.url, schema=factory.schema) as source:
        header = await back_up(source, tmp_path / "backup", now=0)

    assert (header.revision, header.records) == (1201, 1)


async def test_compaction_by_a_replica_that_is_ahead_leaves_the_log_writable(
    factory: PostgresFactory, tables: Any
) -> None:
    async with replicas(factory, 1) as (store,):
        await written(store, 5)
        await set_back(tables, 3)
        await store.compact(5)

        again = await factory.open()
        assert (await put(again, pod("b"), "1")).revision == 4
        await again.close()


@pytest.mark.parametrize("seen", [2, 3])
async def test_a_batch_that_was_compacted_away_is_no_sign_of_another_history(
    factory: PostgresFactory, tables: Any, seen: int
) -> None:
    async with replicas(factory, 2) as (one, two):
        await written(one, seen)
        await two.sync()
        await written(one, 3 - seen)
        await put(one, pod("b"), "1")
        await one.compact(3)
        assert await tables.fetchval("SELECT count(*) FROM batch WHERE first < 3") == 0

        assert await two.sync() == 4
        assert (await put(two, pod("c"), "1")).revision == 5
        await one.compact(5)
        assert (await put(two, pod("d"), "1")).revision == 6
