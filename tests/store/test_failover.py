"""A standby takes the primary's place: what was acknowledged is there, watches go on, writes go on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import asyncpg
import pytest

from homeostat.store.base import LostError, UnwritableError
from homeostat.store.postgres import PostgresStore
from homeostat.store.postgres.database import Database
from tests.postgres import Postgres, running_postgres, running_standby, wait_for_standby
from tests.store.contract import PODS, Subscriber, names, pod, put


@pytest.fixture
def primary() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture
def standby(primary: Postgres) -> Iterator[Postgres]:
    with running_standby(primary) as server:
        yield server


async def test_a_failover_loses_nothing_that_was_acknowledged(primary: Postgres, standby: Postgres) -> None:
    await wait_for_standby(primary)
    both = primary.url_at(primary.port).replace("/postgres", f",127.0.0.1:{standby.port}/postgres")
    stores = [await PostgresStore.open(both, patience_s=20) for _ in range(2)]
    following = [asyncio.ensure_future(store.maintain()) for store in stores]
    watchers = [Subscriber() for _ in stores]
    for store, subscriber in zip(stores, watchers, strict=True):
        await store.subscribe(PODS, since=0, deliver=subscriber)
    acknowledged: list[int] = []

    async def write(writer: int) -> None:
        for step in range(30):
            acknowledged.append((await put(stores[writer % 2], pod(str(writer)), str(step))).revision)
            await asyncio.sleep(0.01)

    writing = asyncio.gather(*(write(writer) for writer in range(6)))
    await asyncio.sleep(0.1)
    primary.stop(is_crash=True)
    await asyncio.to_thread(standby.promote)
    await writing

    assert sorted(acknowledged) == list(range(1, 181))
    assert [await store.sync() for store in stores] == [180, 180]
    assert [subscriber.revisions for subscriber in watchers] == [list(range(1, 181))] * 2
    for task in following:
        task.cancel()
    for store in stores:
        await store.close()


async def test_a_standby_is_never_asked_whatever_the_address_says(primary: Postgres, standby: Postgres) -> None:
    """What it answers is not the newest."""
    both = standby.url_at(standby.port).replace("/postgres", f",127.0.0.1:{primary.port}/postgres")
    for _ in range(3):
        connection = await Database(f"{both}?target_session_attrs=any", "homeostat").connect("test")
        assert await connection.fetchval("SELECT pg_is_in_recovery()") is False
        await connection.close()


async def test_revisions_that_a_promoted_standby_lacks_are_not_reused(primary: Postgres, standby: Postgres) -> None:
    both = primary.url_at(primary.port).replace("/postgres", f",127.0.0.1:{standby.port}/postgres")
    stores = [await PostgresStore.open(both, patience_s=20) for _ in range(2)]
    following = [asyncio.ensure_future(store.maintain(poll_s=0.1)) for store in stores]
    for step in range(5):
        await put(stores[0], pod("kept"), str(step))
    await cut_off(primary, standby)
    for step in range(5):
        await put(stores[0], pod("lost"), str(step))
    shown = await stores[1].sync()
    primary.stop(is_crash=True)
    writing = [asyncio.ensure_future(put(store, pod("after"), "1")) for store in stores]
    await asyncio.to_thread(standby.promote)

    refused = await asyncio.gather(*writing, return_exceptions=True)
    ended = await asyncio.gather(*following, return_exceptions=True)
    assert [isinstance(each, UnwritableError) for each in refused] == [True, True]
    assert [type(each) for each in ended] == [LostError] * 2
    again = await PostgresStore.open(both)
    assert names(again.select(PODS)) == ["default/kept"]
    assert again.revision == again.oldest > shown
    for store in (*stores, again):
        await store.close()


async def cut_off(primary: Postgres, standby: Postgres) -> None:
    """What is committed from now on stays on the primary."""
    owner, follower = await asyncpg.connect(primary.url), await asyncpg.connect(standby.url)
    newest = await owner.fetchval("SELECT pg_current_wal_lsn()::text")
    async with asyncio.timeout(30):
        while await follower.fetchval("SELECT pg_last_wal_replay_lsn() < $1::text::pg_lsn", newest):
            await follower.fetchval("SELECT pg_sleep(0.05)")
    await follower.execute("ALTER SYSTEM SET primary_conninfo = ''")
    await follower.execute("SELECT pg_reload_conf()")
    async with asyncio.timeout(30):
        while await owner.fetchval("SELECT count(*) FROM pg_stat_replication"):
            await owner.fetchval("SELECT pg_sleep(0.05)")
    await owner.close()
    await follower.close()
