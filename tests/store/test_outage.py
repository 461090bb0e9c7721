"""The database away, restarted or cut off in the middle: nothing acknowledged is lost, nothing is stored twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import asyncpg
import pytest

from homeostat.store.base import Put, UncertainError, UnreachableError, UnwritableError
from homeostat.store.postgres import PostgresStore, database
from homeostat.testing.eventually import eventually
from tests.consistency.proxy import Fate, Proxy, running_proxy
from tests.postgres import Postgres, running_postgres
from tests.store.contract import PODS, PostgresFactory, Subscriber, draft, pod, put

SHORT_S = 0.2


@pytest.fixture
async def proxy(postgres: Postgres) -> AsyncIterator[Proxy]:
    async with running_proxy(postgres.port) as opened:
        yield opened


async def opened_through(
    proxy: Proxy, postgres: Postgres, factory: PostgresFactory, *, patience_s: float = 5
) -> PostgresStore:
    url = postgres.url_at(proxy.port)
    return await PostgresStore.open(url, schema=factory.schema, patience_s=patience_s)


async def log_of(factory: PostgresFactory) -> list[tuple[int, str, str]]:
    """What a new replica finds."""
    store, subscriber = await factory.open(), Subscriber()
    await store.subscribe(PODS, since=0, deliver=subscriber)
    await store.close()
    return subscriber.summary


@pytest.mark.parametrize("fate", ["answer-lost", "never-arrives", "arrives-later"])
@pytest.mark.parametrize("path", ["alone", "overtaken"])
async def test_a_commit_that_lost_its_connection_is_stored_once_and_acknowledged(
    proxy: Proxy, postgres: Postgres, factory: PostgresFactory, fate: Fate, path: str
) -> None:
    store, other = await opened_through(proxy, postgres, factory), await factory.open()
    subscriber = Subscriber()
    await store.subscribe(PODS, since=0, deliver=subscriber)
    if path == "overtaken":
        await put(other, pod("theirs"), "1")
    first = 1 if path == "alone" else 2
    # Overtaken, it is committed by a message of its own; else by the one that brings the value.
    proxy.doom(b"COMMIT" if path == "overtaken" else b"marked", fate)

    made, beside = await asyncio.gather(put(store, pod("a"), "marked"), put(store, pod("b"), "1"))
    await proxy.release()

    assert proxy.has_met_doom.is_set()
    assert (made.revision, beside.revision) == (first, first + 1)
    assert store.get(pod("a")) is made
    assert await store.sync() == await other.sync() == first + 1
    mine = [(first, "ADDED", "a"), (first + 1, "ADDED", "b")]
    assert subscriber.summary[first - 1 :] == mine
    assert (await log_of(factory))[first - 1 :] == mine
    await store.close()
    await other.close()


@pytest.mark.parametrize(
    ("fate", "is_stored"), [("answer-lost", True), ("never-arrives", False), ("arrives-later", True)]
)
async def test_a_commit_with_an_unknown_outcome_is_neither_acknowledged_nor_denied(
    proxy: Proxy, postgres: Postgres, factory: PostgresFactory, fate: Fate, is_stored: bool
) -> None:
    store = await opened_through(proxy, postgres, factory, patience_s=SHORT_S)
    subscriber = Subscriber()
    await store.subscribe(PODS, since=0, deliver=subscriber)
    await put(store, pod("before"), "1")
    proxy.doom(b"marked", fate)
    proxy.is_refusing = True

    with pytest.raises(UncertainError, match="outcome of the commit is unknown"):
        await put(store, pod("a"), "marked")
    proxy.is_refusing = False
    await proxy.release()

    assert await store.sync() == 1 + is_stored
    assert (store.get(pod("a")) is not None) == is_stored
    assert (await put(store, pod("after"), "1")).revision == 2 + is_stored
    assert subscriber.revisions == list(range(1, store.revision + 1))
    assert await log_of(factory) == subscriber.summary
    await store.close()


async def test_a_commit_that_arrives_after_a_second_try_was_lost_too_is_found(
    proxy: Proxy, postgres: Postgres, factory: PostgresFactory
) -> None:
    store = await opened_through(proxy, postgres, factory)
    await put(store, pod("before"), "1")
    proxy.doom(b"marked", "arrives-later")
    writing = asyncio.ensure_future(put(store, pod("a"), "marked"))
    await proxy.has_met_doom.wait()
    proxy.doom(b"COMMIT", "never-arrives")
    await proxy.has_met_doom.wait()
    await proxy.release()

    made = await writing
    assert made.revision == 2
    assert store.get(pod("a")) is made
    assert await log_of(factory) == [(1, "ADDED", "before"), (2, "ADDED", "a")]
    await store.close()


async def commits_wait(server: Postgres, owner: asyncpg.Connection) -> None:
    """Until the server has heard that they shall."""
    connection = await asyncpg.connect(server.url)

    async def commit() -> None:
        for number in range(100_000):
            await connection.execute(f"CREATE TABLE waiting_{number} ()")

    committing = asyncio.ensure_future(commit())
    await eventually(lambda: owner.fetchval("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"))
    committing.cancel()
    with suppress(asyncio.CancelledError):
        await committing
    connection.terminate()


async def test_a_commit_that_no_standby_has_is_not_acknowledged_when_it_is_found() -> None:
    """Ended while it waits for a standby, a commit is there to be seen, and is lost with the primary all the same."""
    with running_postgres() as server:
        store = await PostgresStore.open(server.url, patience_s=SHORT_S)
        await put(store, pod("before"), "1")
        owner = await asyncpg.connect(server.url)
        await owner.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        await owner.execute("SELECT pg_reload_conf()")
        await commits_wait(server, owner)
        writing = asyncio.ensure_future(put(store, pod("a"), "1"))

        async def end_what_waits() -> None:
            while not writing.done():
                await owner.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
                )
                await asyncio.sleep(0.05)

        with pytest.raises(UncertainError, match="outcome of the commit is unknown"):
            async with asyncio.timeout(30):
                await asyncio.gather(writing, end_what_waits())
        await owner.close()
        await store.close()


async def test_while_the_database_is_away_nothing_is_called_fresh_or_written(
    proxy: Proxy, postgres: Postgres, factory: PostgresFactory, caplog: pytest.LogCaptureFixture
) -> None:
    store = await opened_through(proxy, postgres, factory, patience_s=SHORT_S)
    made = await put(store, pod("a"), "1")
    proxy.is_refusing = True
    proxy.cut()

    with pytest.raises(UnreachableError, match="does not respond") as error:
        await store.sync()
    assert "owner" not in str(error.value)
    with pytest.raises(UnwritableError):
        await store.write(Put(pod("b"), draft("1"), 0))
    assert store.trouble
    assert store.get(pod("a")) is made
    began = asyncio.get_running_loop().time()
    for _ in range(5):
        with pytest.raises(UnreachableError):
            await store.sync()
    assert asyncio.get_running_loop().time() - began < 4 * SHORT_S, "none of the five waits"

    proxy.is_refusing = False
    assert await store.sync() == 1
    assert (await put(store, pod("b"), "1")).revision == 2
    assert not store.trouble
    await store.close()


async def test_a_database_that_takes_everything_and_answers_nothing_is_away(
    proxy: Proxy, postgres: Postgres, factory: PostgresFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a connection is left when a machine or a wire is gone: nothing is refused, nothing comes."""
    monkeypatch.setattr(database, "_COMMAND_S", SHORT_S)
    monkeypatch.setattr(database, "_CONNECT_S", SHORT_S * 10)
    store = await opened_through(proxy, postgres, factory, patience_s=SHORT_S)
    await put(store, pod("a"), "1")
    proxy.alter = lambda _: b""
    monkeypatch.setattr(database, "_CONNECT_S", SHORT_S)
    async with asyncio.timeout(30):
        with pytest.raises(UnreachableError, match="TimeoutError"):
            await store.sync()
        with pytest.raises(UnwritableError):
            await put(store, pod("b"), "1")

    proxy.alter = lambda data: data
    monkeypatch.setattr(database, "_CONNECT_S", SHORT_S * 10)
    assert await store.sync() == 1
    await store.close()


async def test_a_replica_that_cannot_follow_is_in_trouble_until_it_can(
    proxy: Proxy, postgres: Postgres, factory: PostgresFactory
) -> None:
    store = await opened_through(proxy, postgres, factory, patience_s=SHORT_S)
    following = asyncio.ensure_future(store.maintain(poll_s=0.05))
    await store.sync()
    assert not store.trouble
    proxy.is_refusing = True
    proxy.cut()
    await eventually(lambda: "does not respond" in store.trouble)
    proxy.is_refusing = False
    await eventually(lambda: not store.trouble)
    following.cancel()
    await store.close()


async def test_a_refused_commit_is_trouble_until_commits_are_taken_again(
    postgres: Postgres, factory: PostgresFactory
) -> None:
    """Without anybody writing meanwhile."""
    store = await factory.open()
    following = asyncio.ensure_future(store.maintain(poll_s=0.05))
    owner = await asyncpg.connect(postgres.url, server_settings={"search_path": factory.schema})
    await owner.execute("ALTER TABLE mark ADD CHECK (false) NOT VALID; ALTER TABLE batch ADD CHECK (false) NOT VALID")
    with pytest.raises(UnwritableError):
        await put(store, pod("a"), "1")
    await eventually(lambda: "violates check constraint" in store.trouble)
    await owner.execute("ALTER TABLE mark DROP CONSTRAINT mark_check; ALTER TABLE batch DROP CONSTRAINT batch_check")
    await eventually(lambda: not store.trouble)
    assert (await put(store, pod("a"), "1")).revision == 1
    await owner.close()
    following.cancel()
    await store.close()


@pytest.mark.parametrize("is_crash", [False, True], ids=["stopped", "crashed"])
async def test_a_restart_of_the_database_is_a_pause(
    postgres: Postgres, factory: PostgresFactory, is_crash: bool
) -> None:
    store = await factory.open()
    following = asyncio.ensure_future(store.maintain())
    acknowledged: list[int] = []

    async def write(writer: int) -> None:
        for step in range(20):
            acknowledged.append((await put(store, pod(str(writer)), str(step))).revision)
            await asyncio.sleep(0.01)

    writing = asyncio.gather(*(write(writer) for writer in range(5)))
    await asyncio.sleep(0.05)
    await asyncio.to_thread(postgres.stop, is_crash=is_crash)
    read = asyncio.ensure_future(store.sync())
    postgres.start()
    await writing

    assert sorted(acknowledged) == list(range(1, 101))
    assert await read <= await store.sync() == 100
    assert len(await log_of(factory)) == 100
    assert not following.done()
    following.cancel()
    await store.close()


async def test_connections_that_are_cut_again_and_again_cost_no_write(
    proxy: Proxy, postgres: Postgres, factory: PostgresFactory
) -> None:
    stores = [await opened_through(proxy, postgres, factory) for _ in range(2)]
    following = [asyncio.ensure_future(store.maintain()) for store in stores]
    watchers = [Subscriber() for _ in stores]
    for store, subscriber in zip(stores, watchers, strict=True):
        await store.subscribe(PODS, since=0, deliver=subscriber)

    async def write(writer: int) -> None:
        for step in range(30):
            await put(stores[writer % 2], pod(str(writer)), str(step))

    writing = asyncio.gather(*(write(writer) for writer in range(6)))
    for pause_s in (0.02, 0.04, 0.08, 0.16, 0.32):
        await asyncio.sleep(pause_s)
        proxy.cut()
    await writing
    for store in stores:
        await store.sync()

    assert [subscriber.revisions for subscriber in watchers] == [list(range(1, 181))] * 2
    for task in following:
        task.cancel()
    for store in stores:
        await store.close()
