"""What only the PostgreSQL store promises: its tables, its sessions, and what it refuses to be opened on."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from typing import Any

import asyncpg
import pytest

from homeostat.store.base import Key, Scope, StoreError, UnreachableError
from homeostat.store.postgres import PostgresStore
from homeostat.store.postgres.database import Connection, Database
from homeostat.store.postgres.link import Link
from tests.consistency.proxy import running_proxy
from tests.postgres import Postgres
from tests.store.contract import PODS, PostgresFactory, Subscriber, pod, put, remove

KEY = bytes(range(32))
SECRET = Key("secrets", "default", "token")


async def sealed_store(factory: PostgresFactory, sealed: set[str], key: bytes | None) -> PostgresStore:
    return await PostgresStore.open(factory.url, schema=factory.schema, sealed=sealed, key=key)


async def test_a_schema_of_a_newer_program_is_refused(factory: PostgresFactory, tables: Any) -> None:
    await (await factory.open()).close()
    await tables.execute("INSERT INTO migration VALUES (99, now())")

    with pytest.raises(
        StoreError, match=r"schema 99, and this is homeostat \S+, which supports up to 1; use the version"
    ):
        await factory.open()


@pytest.mark.parametrize("schema", ["", "a b", 'a"b', "a" * 64, "drop;table"])
async def test_a_name_that_is_no_schema_is_refused(postgres: Postgres, schema: str) -> None:
    with pytest.raises(StoreError, match="is not a valid schema name"):
        await PostgresStore.open(postgres.url, schema=schema)


async def test_a_schema_made_by_another_is_used_as_it_is(factory: PostgresFactory, postgres: Postgres) -> None:
    """Its user then needs no right to make one."""
    owner = await asyncpg.connect(postgres.url)
    await owner.execute(f"CREATE ROLE {factory.schema} LOGIN; CREATE SCHEMA AUTHORIZATION {factory.schema}")
    await owner.close()
    url = postgres.url.replace("owner@", f"{factory.schema}@")
    store = await PostgresStore.open(url, schema=factory.schema)

    assert (await put(store, pod("a"), "1")).revision == 1
    await store.tidy()
    await store.close()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(("owner@", "nobody@"), 'role "nobody" does not exist', id="no-such-user"),
        pytest.param(("/postgres?", "/missing?"), 'database "missing" does not exist', id="no-such-database"),
        pytest.param(("host=", "host=/nowhere"), "No such file", id="no-server"),
        pytest.param(("postgresql:", "mysql:"), "scheme", id="another-database"),
    ],
)
async def test_what_cannot_be_opened_is_named(postgres: Postgres, change: tuple[str, str], reason: str) -> None:
    with pytest.raises(StoreError, match=f"cannot open .*{reason}"):
        await PostgresStore.open(postgres.url.replace(*change))


async def test_a_password_is_never_shown(postgres: Postgres) -> None:
    url = postgres.url_at(postgres.port).replace("owner:", "owner:wrong-")
    with pytest.raises(StoreError, match="password authentication failed") as error:
        await PostgresStore.open(url)

    assert "wrong-" not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://plane:hun/ter@127.0.0.1:1/db",
        "postgresql://plane:hun#ter@127.0.0.1:1/db",
        "postgresql://plane:hun?ter@127.0.0.1:1/db",
        "postgresql://plane:123?hun=ter@127.0.0.1:1/db",
        "postgresql://plane:[hunter@127.0.0.1:1/db",
        "postgresql://plane:hun%zter@127.0.0.1:1/db",
        "postgresql://plane:hunter:@127.0.0.1:1/db",
        "postgresql://plane:hunter@127.0.0.1:hunter/db",
        "postgresql://plane@127.0.0.1:1/db?hunter",
        "postgresql://plane@127.0.0.1:1/db?password=hunter",
    ],
)
async def test_an_invalid_address_is_not_shown(url: str) -> None:
    with pytest.raises(StoreError) as error:
        await PostgresStore.open(url)

    assert not re.search(r"hun|ter\b|123", str(error.value))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql:///db?host=/run/a@b&user=u@x", None),
        ("postgresql://u:p@/db?host=/run/a@b", "postgresql:///db"),
        ("postgresql://u:p@h1:1,h2:2/db?sslmode=require&sslrootcert=/a/b.pem", "postgresql://h1:1,h2:2/db"),
        ("postgres://[::1]:5432/db", "postgres://[::1]:5432/db"),
        ("postgresql://u:p@ss@h/db", "postgresql://h/db"),
        ("postgresql://%2Frun%2Fsocket/db", "postgresql://%2Frun%2Fsocket/db"),
        ("postgresql://h", "postgresql://h"),
    ],
)
def test_an_address_is_shown_without_user_password_and_options(url: str, shown: str | None) -> None:
    if shown is None:
        with pytest.raises(StoreError, match="must have the form"):
            Database(url, "homeostat")
    else:
        assert Database(url, "homeostat").address == shown


async def test_a_pooler_that_drops_settings_is_refused(postgres: Postgres, factory: PostgresFactory) -> None:
    """They name the schema, without which everything would be made in another."""
    async with running_proxy(postgres.port) as pooler:
        pooler.alter = lambda data: data.replace(b"search_path\0", b"x.nobodys__\0")
        with pytest.raises(StoreError, match="a connection pooler drops the session's settings"):
            await PostgresStore.open(f"{postgres.url_at(pooler.port)}?sslmode=disable", schema=factory.schema)


@pytest.mark.parametrize("place", ["first", "last"])
async def test_a_host_that_swallows_everything_does_not_hide_the_next(
    postgres: Postgres, factory: PostgresFactory, place: str
) -> None:
    """A machine that is gone refuses nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hosts = [f"127.0.0.1:{silent.getsockname()[1]}", f"127.0.0.1:{postgres.port}"]
        both = ",".join(hosts if place == "first" else reversed(hosts))
        url = postgres.url_at(postgres.port).replace(hosts[1], both)
        began = time.monotonic()
        database = Database(url, factory.schema)
        for _ in range(5):  # found once, it is asked first
            await (await database.connect("test")).close()

        assert time.monotonic() - began < 10, "the silent host takes 2.5 s of every attempt at it"
        store = await PostgresStore.open(url, schema=factory.schema)
        assert (await put(store, pod("a"), "1")).revision == 1
        await store.close()


async def test_a_database_of_another_encoding_is_refused(postgres: Postgres) -> None:
    owner = await asyncpg.connect(postgres.url)
    await owner.execute("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    await owner.close()

    with pytest.raises(StoreError, match="encoding LATIN1; create one with UTF8"):
        await PostgresStore.open(postgres.url.replace("/postgres?", "/latin?"))


@pytest.mark.parametrize(
    ("setting", "expected"),
    [("off", "on"), ("local", "on"), ("on", "on"), ("remote_apply", "remote_apply")],
)
async def test_commits_wait_for_the_disk_whatever_the_database_is_set_to(
    postgres: Postgres, factory: PostgresFactory, setting: str, expected: str
) -> None:
    owner = await asyncpg.connect(postgres.url)
    await owner.execute(f"ALTER ROLE owner SET synchronous_commit = {setting}")
    try:
        connection = await Database(factory.url, factory.schema).connect("test")
        assert await connection.fetchval("SHOW synchronous_commit") == expected
        await connection.close()
    finally:
        await owner.execute("ALTER ROLE owner RESET synchronous_commit")
        await owner.close()


@pytest.mark.parametrize("setting", ["repeatable read", "serializable"])
async def test_a_database_set_to_another_isolation_costs_no_write(
    postgres: Postgres, factory: PostgresFactory, setting: str
) -> None:
    owner = await asyncpg.connect(postgres.url)
    await owner.execute(f"ALTER ROLE owner SET default_transaction_isolation = '{setting}'")
    try:
        stores = [await factory.open() for _ in range(2)]
        await asyncio.gather(*(put(stores[each % 2], pod(str(each)), "1") for each in range(40)))
        assert [await store.sync() for store in stores] == [40, 40]
        for store in stores:
            await store.close()
    finally:
        await owner.execute("ALTER ROLE owner RESET default_transaction_isolation")
        await owner.close()


async def test_all_that_waits_shares_a_commit(factory: PostgresFactory) -> None:
    store = await factory.open()
    await asyncio.gather(*(put(store, pod(str(each)), "1") for each in range(1000)))

    assert (store.counters.batches, store.counters.rows) == (1, 1000)
    await store.close()


async def test_compaction_leaves_what_is_current(factory: PostgresFactory, tables: Any) -> None:
    store = await factory.open()
    for step in range(4):
        await asyncio.gather(*(put(store, pod(str(each)), str(step)) for each in range(300)))
    for each in range(100):
        await remove(store, pod(str(each)))
    await store.compact(store.revision)

    assert await tables.fetchval("SELECT count(*) FROM log") == store.count(PODS) == 200
    await store.close()


async def test_compaction_that_ended_half_way_continues_elsewhere(factory: PostgresFactory, tables: Any) -> None:
    store, other = await factory.open(), await factory.open()
    for step in range(4):
        await asyncio.gather(*(put(store, pod(str(each)), str(step)) for each in range(300)))
    await other.sync()
    compacting = asyncio.ensure_future(store.compact(store.revision))
    while await tables.fetchval("SELECT swept FROM sweep") == 0:
        pass
    compacting.cancel()
    await asyncio.wait([compacting])
    await other.compact(0)

    assert await tables.fetchval("SELECT count(*) FROM log") == 300
    await store.close()
    await other.close()


async def test_a_sealed_value_is_in_no_row_in_the_clear_and_replicas_share_it(
    factory: PostgresFactory, tables: Any
) -> None:
    one, two = await sealed_store(factory, {"secrets"}, KEY), await sealed_store(factory, {"secrets"}, KEY)
    await put(one, SECRET, "hunter-one")
    await put(one, SECRET, "hunter-two")
    await put(one, Key("configmaps", "default", "plain"), "visible")
    subscriber = Subscriber()
    await two.subscribe(Scope("secrets"), since=0, deliver=subscriber)
    await two.sync()
    rows = b"".join(row["value"] for row in await tables.fetch("SELECT value FROM log"))

    assert (b"hunter" in rows, b"visible" in rows) == (False, True)
    assert [event.record.value for event in subscriber.events] == [b"<1:hunter-one>", b"<2:hunter-two>"]
    await one.close()
    await two.close()


@pytest.mark.parametrize(
    ("sealed", "key"),
    [
        pytest.param({"secrets"}, bytes(32), id="another-key"),
        pytest.param(set(), None, id="no-key"),
        pytest.param({"secrets", "configmaps"}, KEY, id="other-resources"),
    ],
)
async def test_a_replica_with_another_seal_is_refused(
    factory: PostgresFactory, sealed: set[str], key: bytes | None
) -> None:
    await (await sealed_store(factory, {"secrets"}, KEY)).close()

    with pytest.raises(StoreError, match="the database is sealed as") as error:
        await sealed_store(factory, sealed, key)
    assert KEY.hex() not in str(error.value)


async def test_a_sealed_value_that_was_moved_is_refused(factory: PostgresFactory, tables: Any) -> None:
    store = await sealed_store(factory, {"secrets"}, KEY)
    await put(store, SECRET, "one")
    await put(store, Key("secrets", "other", "token"), "two")
    await store.close()
    await tables.execute("UPDATE log SET value = (SELECT value FROM log WHERE revision = 2) WHERE revision = 1")

    with pytest.raises(StoreError, match='secrets "default/token" at revision 1 was altered'):
        await sealed_store(factory, {"secrets"}, KEY)


async def test_a_link_waits_for_a_server_that_has_no_room(postgres: Postgres, factory: PostgresFactory) -> None:
    """A lasting failure is reported as it is; a passing one is retried until patience ends."""
    patient, link = (Link(Database(factory.url, factory.schema), "test", patience_s=each) for each in (30, 0.1))
    tries = 0

    async def crowded(connection: Connection) -> int:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise asyncpg.TooManyConnectionsError("sorry, too many clients already")
        return tries

    async def broken(connection: Connection) -> int:
        return int(await connection.fetchval("SELECT no_such_column"))

    async def away(connection: Connection) -> int:
        raise ConnectionResetError

    assert await patient.run(crowded) == 3
    await patient.close()
    with pytest.raises(asyncpg.UndefinedColumnError):
        await link.run(broken)
    with pytest.raises(UnreachableError, match="ConnectionResetError"):
        await link.run(away)
    await link.close()
    with pytest.raises(StoreError, match="closed"):
        await link.run(crowded)


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("BEGIN READ ONLY; CREATE SCHEMA made", id="read-only"),
        pytest.param("SELECT pg_terminate_backend(pg_backend_pid())", id="ended"),
        pytest.param("SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(5)", id="cancelled"),
        *(
            pytest.param(f"DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END $$", id=code)
            for code in ("40001", "40P01", "53300", "55P03", "57P02", "57P03", "25P03", "08006")
        ),
    ],
)
async def test_what_another_session_may_do_is_tried_in_another(factory: PostgresFactory, sql: str) -> None:
    link = Link(Database(factory.url, factory.schema), "test", patience_s=2)
    tries = 0

    async def job(connection: Connection) -> int:
        nonlocal tries
        tries += 1
        if tries == 1:
            await connection.execute(sql)
        return int(await connection.fetchval("SELECT 1"))

    assert (await link.run(job), tries) == (1, 2)
    await link.close()


async def test_every_loss_has_a_patience_of_its_own(factory: PostgresFactory) -> None:
    # A busy machine takes some tenths of a second for a new connection.
    link = Link(Database(factory.url, factory.schema), "test", patience_s=1.0)

    async def outage() -> int:
        losses = iter([ConnectionResetError, ConnectionResetError])

        async def job(connection: Connection) -> int:
            for loss in losses:
                raise loss
            return int(await connection.fetchval("SELECT 1"))

        return await link.run(job)

    assert await outage() == 1
    await asyncio.sleep(1.1)
    assert await outage() == 1
    await link.close()


async def test_what_a_failed_job_left_unfinished_goes_with_its_connection(factory: PostgresFactory) -> None:
    link = Link(Database(factory.url, factory.schema), "test", patience_s=0.1)

    async def fail(connection: Connection) -> None:
        await connection.execute("BEGIN")
        await connection.execute("SELECT no_such_column")

    with pytest.raises(asyncpg.UndefinedColumnError):
        await link.run(fail)
    assert await link.run(lambda connection: connection.fetchval("SELECT 1")) == 1
    await link.close()


async def test_a_replay_is_whole_where_sealing_makes_the_values_too_many_for_one_read(factory: PostgresFactory) -> None:
    store = await PostgresStore.open(factory.url, schema=factory.schema, sealed={"secrets"}, key=KEY, history_events=0)
    for number in range(5):
        await put(store, Key("secrets", "default", str(number)), "x" * ((2 << 20) - 20))
    subscriber = Subscriber()
    await store.subscribe(Scope("secrets"), since=0, deliver=subscriber)

    assert subscriber.revisions == [1, 2, 3, 4, 5]
    await store.close()


async def test_large_values_are_compressed_in_a_quick_way(factory: PostgresFactory, tables: Any) -> None:
    store = await factory.open()
    await put(store, pod("a"), "large " * 10_000)
    assert await tables.fetchval("SELECT pg_column_size(value) FROM log") < 6000
    if tables.get_server_version() >= (14,):
        used = await tables.fetchval("SELECT pg_column_compression(value) FROM log")
        assert used in ("lz4", "pglz")  # the older one where the server was built without
    await store.close()
