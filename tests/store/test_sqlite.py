"""What only the SQLite store promises: its file, its lock, its upkeep, and what happens when the disk says no."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from homeostat.store.base import Put, RevisionMismatchError, StoreError, UnwritableError
from homeostat.store.log import events_of, plan
from homeostat.store.seal import Seal
from homeostat.store.sqlite import SqliteStore
from homeostat.store.sqlite.journal import JOURNAL_BYTES
from homeostat.store.sqlite.writer import Writer
from homeostat.testing.eventually import eventually
from tests.full_disk import full_disk
from tests.store.contract import PODS, Subscriber, draft, names, pod, put, remove

OPEN = """
import asyncio, pathlib, sys
from homeostat.store.sqlite import SqliteStore
asyncio.run(SqliteStore.open(pathlib.Path(sys.argv[1])))
"""


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plane.db"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(path: Path, clock: Clock) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(path, clock=clock)
    yield opened
    await opened.close()


def content_of(path: Path) -> bytes:
    return path.read_bytes()


def overwrite(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def size_of(path: Path) -> int:
    return path.stat().st_size


async def test_a_commit_that_the_disk_refuses_leaves_no_trace_and_the_store_continues(
    store: SqliteStore, path: Path
) -> None:
    await put(store, pod("a"), "1")
    subscriber = Subscriber()
    await store.subscribe(PODS, since=store.revision, deliver=subscriber)

    with full_disk():
        results = await asyncio.gather(
            store.write(Put(pod("a"), draft("2"), 1)),
            store.write(Put(pod("a"), draft("3"), 2)),
            store.write(Put(pod("b"), draft("1"), 0)),
            return_exceptions=True,
        )
    assert [type(result) for result in results] == [UnwritableError] * 3
    assert (store.revision, names(store.select(PODS)), subscriber.events) == (1, ["default/a"], [])
    assert store.counters.failures == 1

    assert (await put(store, pod("b"), "1")).revision == 2
    assert subscriber.summary == [(2, "ADDED", "b")]
    await store.close()
    again = await SqliteStore.open(path)
    assert [record.value for record in again.select(PODS)] == [b"<1:1>", b"<2:1>"]
    await again.close()


async def test_a_large_batch_that_the_disk_refuses_is_refused_whole(store: SqliteStore) -> None:
    with full_disk():
        results = await asyncio.gather(
            *(put(store, pod(str(each)), "1") for each in range(700)), return_exceptions=True
        )

    assert {type(result) for result in results} == {UnwritableError}
    assert store.revision == 0
    made = await asyncio.gather(*(put(store, pod(str(each)), "1") for each in range(700)))
    assert [record.revision for record in made] == list(range(1, 701))
    assert store.counters.batches == 1


async def test_large_values_that_wait_together_are_committed_in_some_batches(store: SqliteStore) -> None:
    await asyncio.gather(*(put(store, pod(str(each)), "1" * 1_000_000) for each in range(12)))
    assert store.counters.batches == 6


async def test_failed_commits_are_logged_once_in_a_while(
    store: SqliteStore, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for attempt in range(2):
        with full_disk():
            for number in range(5):
                with pytest.raises(UnwritableError):
                    await put(store, pod(str(number)), "1")
        await put(store, pod(f"between-{attempt}"), "1")
        assert not store.trouble
    assert [record.message for record in caplog.records] == ["commit failed"]
    clock.now += 11
    with full_disk(), pytest.raises(UnwritableError):
        await put(store, pod("later"), "1")
    assert [record.__dict__["failures"] for record in caplog.records] == [1, 11]


async def test_a_refusal_that_needs_no_commit_is_answered_on_a_full_disk(store: SqliteStore) -> None:
    made = await put(store, pod("a"), "1")
    with full_disk():
        assert await put(store, pod("a"), "1") is made
        with pytest.raises(RevisionMismatchError):
            await store.write(Put(pod("a"), draft("2"), 7))


async def test_a_database_is_open_once(store: SqliteStore, path: Path) -> None:
    with pytest.raises(StoreError, match="is in use"):
        await SqliteStore.open(path)
    other = await asyncio.create_subprocess_exec(sys.executable, "-c", OPEN, str(path), stderr=subprocess.PIPE)
    _, error = await other.communicate()
    assert b"StoreError" in error
    assert b"is in use" in error

    assert (await put(store, pod("a"), "1")).revision == 1
    await store.close()
    again = await SqliteStore.open(path)
    assert again.revision == 1
    await again.close()


async def test_the_database_is_readable_by_its_owner_only(store: SqliteStore, path: Path) -> None:
    await put(store, pod("a"), "1")
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) & 0o077 for each in path.parent.glob("plane.db*")}

    assert {name: mode for name, mode in modes.items() if not name.endswith(".lock")} == {
        "plane.db": 0,
        "plane.db-shm": 0,
        "plane.db-wal": 0,
    }


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"not a database " * 1000, "damaged or not a database", id="no-database"),
        pytest.param(b"SQLite format 3\0" + b"\xff" * 9000, "damaged or not a database", id="broken-header"),
    ],
)
async def test_a_file_that_is_no_database_is_named_as_such(path: Path, content: bytes, reason: str) -> None:
    overwrite(path, content)

    with pytest.raises(StoreError, match=reason) as error:
        await SqliteStore.open(path)
    assert str(path) in str(error.value)
    assert content_of(path) == content


async def test_a_database_with_broken_pages_is_named_as_damaged(path: Path) -> None:
    store = await SqliteStore.open(path)
    await asyncio.gather(*(put(store, pod(str(each)), "x" * 500) for each in range(200)))
    await store.close()
    whole = content_of(path)
    overwrite(path, whole[: 4096 * 8] + b"\xa5" * (len(whole) - 4096 * 8))

    with pytest.raises(StoreError, match="damaged"):
        await SqliteStore.open(path)


async def test_a_log_that_lacks_a_current_record_is_refused(path: Path) -> None:
    store = await SqliteStore.open(path)
    await put(store, pod("a"), "1")
    await store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM log")
        connection.commit()

    with pytest.raises(StoreError, match='the store is corrupt: pods "default/a" is missing'):
        await SqliteStore.open(path)


async def test_a_path_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot"):
        await SqliteStore.open(tmp_path / "missing" / "plane.db")


async def test_a_database_of_a_newer_program_is_refused(path: Path) -> None:
    await (await SqliteStore.open(path)).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")

    with pytest.raises(
        StoreError, match=r"schema 99, and this is homeostat \S+, which supports up to 1; use the version"
    ):
        await SqliteStore.open(path)


async def test_a_database_of_another_program_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE recipes (name)")

    with pytest.raises(StoreError, match="another program"):
        await SqliteStore.open(path)


async def test_commits_wait_for_the_disk_and_share_it(store: SqliteStore, path: Path) -> None:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as reader:
        assert reader.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    await asyncio.gather(*(put(store, pod(str(each)), "1") for each in range(100)))

    assert (store.counters.batches, store.counters.rows) == (1, 100)
    assert sum(store.counters.buckets) == 1


async def test_history_is_kept_for_its_time_and_then_forgotten(store: SqliteStore, clock: Clock) -> None:
    for step in range(5):
        await put(store, pod("a"), str(step))
    clock.now += 200
    for step in range(5):
        await put(store, pod("a"), f"later {step}")
    await store.tidy(keep_s=300)
    assert store.oldest == 0
    clock.now += 101
    await store.tidy(keep_s=300)
    assert store.oldest == 5
    clock.now += 1000
    await store.tidy(keep_s=300)

    assert store.oldest == 10
    assert [record.value for record in store.select(PODS)] == [b"<10:later 4>"]


async def test_upkeep_continues_after_the_disk_refused_it(
    store: SqliteStore, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for step in range(3):
        await put(store, pod("a"), str(step))
    clock.now += 301
    upkeep = asyncio.ensure_future(store.maintain(keep_s=300, every_s=0))
    with full_disk():
        await eventually(lambda: "store maintenance failed" in caplog.text)
    assert not upkeep.done()
    upkeep.cancel()
    with suppress(asyncio.CancelledError):
        await upkeep
    await put(store, pod("a"), "later")
    clock.now += 301
    await store.tidy(keep_s=300)

    assert store.oldest == 4
    assert [record.value for record in store.select(PODS)] == [b"<4:later>"]


async def test_a_clock_set_back_does_not_keep_history_for_ever(store: SqliteStore, clock: Clock) -> None:
    clock.now += 10_000_000
    await put(store, pod("a"), "1")
    clock.now -= 10_000_000
    await put(store, pod("a"), "2")
    clock.now += 301
    await store.tidy(keep_s=300)

    assert store.oldest == 2


async def test_tidying_gives_the_space_back(store: SqliteStore, path: Path, clock: Clock) -> None:
    for step in range(20):
        await asyncio.gather(*(put(store, pod(str(each)), f"{step}" * 1000) for each in range(50)))
    journal = path.with_name("plane.db-wal")
    full_bytes = size_of(path) + size_of(journal)
    clock.now += 301
    await store.tidy(keep_s=300)

    assert size_of(path) == store.database_bytes < full_bytes / 5
    assert size_of(journal) <= JOURNAL_BYTES
    assert store.count(PODS) == 50


async def test_compaction_that_a_crash_cut_short_continues_after_the_restart(path: Path) -> None:
    store = await SqliteStore.open(path)
    for step in range(1200):
        await put(store, pod("a"), str(step)) if step % 100 else await remove_or_put(store)
    compacting = asyncio.ensure_future(store.compact(store.revision))
    await asyncio.sleep(0)
    compacting.cancel()
    await store.close()
    again = await SqliteStore.open(path)
    await again.compact(again.revision)
    await again.close()

    with closing(sqlite3.connect(path)) as connection:
        left = connection.execute("SELECT (SELECT count(*) FROM log), (SELECT count(*) FROM state)").fetchone()
    assert left == (1, 1)


async def remove_or_put(store: SqliteStore) -> None:
    await (remove(store, pod("a")) if store.get(pod("a")) else put(store, pod("a"), "again"))


async def test_commits_overwrite_the_journal_once_it_is_long(store: SqliteStore, path: Path) -> None:
    journal = path.with_name("plane.db-wal")
    await put(store, pod("a"), "small")
    assert size_of(journal) < JOURNAL_BYTES / 8

    for step in range(2000):
        await put(store, pod("a"), f"{step}" * 1000)

    assert size_of(journal) == JOURNAL_BYTES
    await store.tidy(keep_s=300)
    assert size_of(journal) == JOURNAL_BYTES
    await store.close()
    again = await SqliteStore.open(path)
    assert [record.value for record in again.select(PODS)] == [b"<2001:" + b"1999" * 1000 + b">"]
    await again.close()


async def test_a_journal_that_grew_behind_a_long_read_is_cut(store: SqliteStore, path: Path) -> None:
    journal = path.with_name("plane.db-wal")
    await put(store, pod("a"), "first")
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM log").fetchone()
        for step in range(300):
            await put(store, pod("a"), f"{step}" * 10_000)
        assert size_of(journal) > JOURNAL_BYTES
        await store.tidy(keep_s=300)
        assert size_of(journal) > JOURNAL_BYTES
        reader.execute("COMMIT")
    await store.tidy(keep_s=300)

    assert size_of(journal) <= JOURNAL_BYTES
    assert store.get(pod("a")) is not None
    for step in range(100):
        await put(store, pod("a"), f"{step}" * 3000)
    assert size_of(journal) == JOURNAL_BYTES


async def test_a_disk_without_room_for_a_long_journal_is_not_filled_with_it(store: SqliteStore, path: Path) -> None:
    journal = path.with_name("plane.db-wal")
    with full_disk(JOURNAL_BYTES // 4):
        for step in range(400):
            await put(store, pod("a"), f"{step}" * 3000)
            if step % 50 == 0:
                await store.tidy(keep_s=0)
    assert size_of(journal) < JOURNAL_BYTES / 8

    await store.tidy(keep_s=0)
    for step in range(100):
        await put(store, pod("a"), f"{step}" * 3000)
    assert size_of(journal) == JOURNAL_BYTES


@pytest.fixture
def real(path: Path, tmp_path: Path) -> Path:
    """What `path` is a link to."""
    real = tmp_path / "elsewhere" / "real.db"
    real.parent.mkdir()
    real.touch()
    path.symlink_to(real)
    return real


async def test_the_journal_of_a_linked_database_is_found(path: Path, real: Path) -> None:
    store = await SqliteStore.open(path)
    for step in range(100):
        await put(store, pod("a"), f"{step}" * 3000)
    assert size_of(real.with_name("real.db-wal")) == JOURNAL_BYTES
    await store.close()


async def test_a_database_that_is_open_is_not_opened_through_a_link(path: Path, real: Path) -> None:
    store = await SqliteStore.open(real)
    with pytest.raises(StoreError, match="is in use"):
        await SqliteStore.open(path)
    await store.close()


async def test_what_room_there_is_on_a_nearly_full_disk_is_left_to_the_database(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nearly_full = os.statvfs_result((4096, 4096, 4096, 4096, JOURNAL_BYTES // 4096, 9, 9, 9, 0, 255))
    monkeypatch.setattr(os, "fstatvfs", lambda _: nearly_full)
    for step in range(100):
        await put(store, pod("a"), f"{step}" * 3000)
    assert size_of(path.with_name("plane.db-wal")) < JOURNAL_BYTES / 8


def test_what_was_checked_is_not_checked_again(path: Path) -> None:
    writer = Writer(path, Seal(frozenset(), None))
    large = events_of(plan([Put(pod("a"), draft("x" * JOURNAL_BYTES), 0)], 0, lambda _: None))
    small = events_of(plan([Put(pod("b"), draft("x"), 0)], 1, lambda _: None))
    assert writer.commit(large, 0.0)
    writer.check()
    assert not writer.commit(small, 0.0)
    writer.close()
