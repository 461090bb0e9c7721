"""A backup is the log at one revision, from any database to any other."""

from __future__ import annotations

import asyncio
import time
from itertools import count
from pathlib import Path

import pytest

from homeostat.store.backup.backup import move, revision_after, verify
from homeostat.store.backup.file import BackupError
from homeostat.store.base import CompactedError, Event, Key, Scope, Store, StoreError
from homeostat.store.seal import Seal
from homeostat.store.sqlite import SqliteStore
from tests.store.backups import (
    NOW,
    Place,
    PostgresPlace,
    SqlitePlace,
    backed_up,
    facts,
    history_of,
    restored,
    rows_of,
    state_of,
)
from tests.store.contract import PODS, Subscriber, pod, put, remove

KEY = bytes(range(32))
SECRET = Key("secrets", "default", "token")


def _place(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if kind == "postgres":
        return PostgresPlace(request.getfixturevalue("postgres").url)
    return SqlitePlace(tmp_path)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return _place(request.param, request, tmp_path)


@pytest.fixture(params=["to-sqlite", "to-postgres"])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return _place(request.param.removeprefix("to-"), request, tmp_path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.backup"


async def fill(store: Store) -> None:
    """Some history, some of it forgotten; deletions and recreations on both sides of that."""
    for step in range(12):
        await put(store, pod(f"p{step % 5}"), f"text {step}" * 20)
    await remove(store, pod("p1"))
    await store.compact(store.revision - 3)
    await remove(store, pod("p2"))
    await put(store, pod("p1"), "again")
    await put(store, SECRET, "hunter")
    await put(store, pod("p3"), "newest")


def replayed(events: list[Event], upto: int) -> list[tuple[Key, int, int, bytes]]:
    state = {}
    for event in events:
        if event.record.revision > upto:
            break
        state[event.record.key] = event.record
        if event.type == "DELETED":
            del state[event.record.key]
    return facts([state[key] for key in sorted(state)])


async def test_a_backup_made_while_writers_write_is_the_state_at_its_revision(
    place: Place, other: Place, path: Path
) -> None:
    store, subscriber = await place.open(), Subscriber()
    await store.subscribe(PODS, since=0, deliver=subscriber)
    await asyncio.gather(*(put(store, pod(f"kept-{number}"), "x" * 2_000) for number in range(1_000)))

    async def write(writer: int) -> None:
        for step in count():
            key = pod(f"{writer}-{step % 7}")
            await (remove(store, key) if step % 11 == 10 else put(store, key, str(step)))

    writing = [asyncio.create_task(write(writer)) for writer in range(5)]
    await asyncio.sleep(0.05)
    before = store.revision
    header = await backed_up(place, path)
    after = store.revision
    for task in writing:
        task.cancel()
    await asyncio.gather(*writing, return_exceptions=True)
    await store.close()

    await restored(path, other)
    again = await other.open()
    assert before <= header.revision <= after
    assert before < after
    assert facts(again.select(PODS)) == replayed(subscriber.events, header.revision)
    await again.close()


async def test_a_restored_store_continues_where_no_client_can_have_been(place: Place, other: Place, path: Path) -> None:
    store = await place.open()
    await fill(store)
    before, seen = state_of(store), store.revision
    header = await backed_up(place, path)
    await put(store, pod("lost"), "written after the backup")
    await store.close()

    revision = await restored(path, other)
    again = await other.open()
    assert state_of(again) == before
    assert (again.revision, again.oldest) == (revision, revision)
    for since in (0, header.oldest, seen, seen + 1, revision - 1):
        with pytest.raises(CompactedError):
            await again.subscribe(PODS, since=since, deliver=Subscriber())
    subscriber = Subscriber()
    await again.subscribe(PODS, since=revision, deliver=subscriber)
    assert (await put(again, pod("p0"), "next")).revision == revision + 1
    assert subscriber.revisions == [revision + 1]
    await again.compact(again.revision)
    await again.close()


async def test_a_backup_that_is_resumed_keeps_revision_and_history(place: Place, other: Place, path: Path) -> None:
    store = await place.open()
    await fill(store)
    header = await backed_up(place, path)
    before, history = state_of(store), await history_of(store, header.oldest)
    await store.close()

    assert await restored(path, other, resume=True) == header.revision
    again = await other.open()
    assert (again.revision, again.oldest) == (header.revision, header.oldest)
    assert state_of(again) == before
    assert await history_of(again, header.oldest) == history != []
    assert (await put(again, pod("p0"), "next")).revision == header.revision + 1
    await again.compact(again.revision)
    assert len(await rows_of(other)) == len(state_of(again))
    await again.close()


async def test_a_moved_store_is_the_same_row_by_row(place: Place, other: Place) -> None:
    seal = Seal({"secrets"}, KEY)
    store = await place.open(sealed={"secrets"}, key=KEY)
    await fill(store)
    before = state_of(store)
    await store.close()

    async with place.source(is_exclusive=True) as source, other.target(seal) as target:
        await move(source, target, seal=seal)
    again = await other.open(sealed={"secrets"}, key=KEY)
    assert state_of(again) == before
    assert await rows_of(other) == await rows_of(place)
    await again.close()


async def test_a_restored_store_is_marked_until_somebody_forgets_it(place: Place, other: Place, path: Path) -> None:
    store = await place.open()
    await put(store, pod("p"), "1")
    assert not store.is_restored
    await store.close()
    await backed_up(place, path)
    await restored(path, other)
    for _ in range(2):
        store = await other.open()
        assert store.is_restored
        await store.close()
    store = await other.open()
    await store.forget_restore()
    assert not store.is_restored
    await store.close()
    store = await other.open()
    assert not store.is_restored
    await store.close()


async def test_a_moved_store_keeps_the_mark_of_a_restore(
    place: Place, other: Place, path: Path, tmp_path: Path
) -> None:
    first = SqlitePlace(tmp_path)
    store = await first.open()
    await put(store, pod("p"), "1")
    await store.close()
    await backed_up(first, path)
    await restored(path, place)
    async with place.source(is_exclusive=True) as source, other.target() as target:
        await move(source, target, seal=Seal())
    store = await other.open()
    assert store.is_restored
    await store.close()


async def test_a_store_is_not_moved_while_it_is_served(place: Place) -> None:
    store = await place.open()
    await put(store, pod("p"), "1")
    with pytest.raises(StoreError, match="is in use; stop"):
        async with place.source(is_exclusive=True):
            pass
    await store.close()


async def test_a_store_is_not_served_while_it_is_moved(tmp_path: Path) -> None:
    place = SqlitePlace(tmp_path)
    await (await place.open()).close()
    async with place.source(is_exclusive=True):
        with pytest.raises(StoreError, match="is in use"):
            await place.open()


async def test_nothing_is_moved_with_another_key(place: Place, other: Place) -> None:
    store = await place.open(sealed={"secrets"}, key=KEY)
    await put(store, SECRET, "hunter")
    await store.close()
    wrong = Seal({"secrets"}, bytes(32))
    async with place.source() as source:
        with pytest.raises(StoreError, match=r"use the seal\.key of its plane"):
            async with other.target(wrong) as target:
                await move(source, target, seal=wrong)


async def test_only_an_empty_store_is_filled(place: Place, other: Place, path: Path) -> None:
    store, full = await place.open(), await other.open()
    await put(store, pod("p"), "1")
    await backed_up(place, path)
    await store.close()
    await put(full, pod("here"), "2")
    await full.close()

    with pytest.raises(StoreError, match="is not empty: it has 1 objects at revision 1"):
        await restored(path, other)
    again = await other.open()
    assert [record.value for record in again.select(PODS)] == [b"<1:2>"]
    await again.close()


async def test_a_store_that_only_had_objects_is_not_empty(place: Place, path: Path, tmp_path: Path) -> None:
    store = await place.open()
    await put(store, pod("p"), "1")
    await remove(store, pod("p"))
    await store.compact(store.revision)
    await store.close()
    with pytest.raises(StoreError, match="is not empty"):
        async with place.target():
            pass


async def test_an_empty_store_may_be_backed_up_and_restored(place: Place, other: Place, path: Path) -> None:
    await (await place.open()).close()
    assert (await backed_up(place, path)).records == 0
    assert await restored(path, other, resume=True) == 0
    again = await other.open()
    assert (await put(again, pod("p"), "1")).revision == 1
    await again.close()


async def test_a_restored_store_may_be_backed_up_again(place: Place, other: Place, path: Path) -> None:
    store = await place.open()
    await fill(store)
    await backed_up(place, path)
    await store.close()
    revision = await restored(path, other)
    again = await backed_up(other, path)
    assert (again.revision, again.oldest, again.rows) == (revision, revision, again.records)


async def half_moved(place: Place, other: Place) -> None:
    async with place.source() as source, other.target() as target:
        async for rows in source.chunks():
            await target.add(rows)
        raise StoreError("the row behind the last cannot be had")


async def test_what_fails_in_the_middle_leaves_an_empty_store(place: Place, other: Place) -> None:
    store = await place.open()
    await fill(store)
    await store.close()
    with pytest.raises(StoreError, match="the row behind the last"):
        await half_moved(place, other)
    empty = await other.open()
    assert (empty.revision, empty.resources()) == (0, [])
    await empty.close()


async def test_secrets_are_sealed_in_a_backup(place: Place, other: Place, path: Path) -> None:
    store = await place.open(sealed={"secrets"}, key=KEY)
    await put(store, SECRET, "hunter")
    header = await backed_up(place, path)
    await store.close()

    assert header.seal == Seal({"secrets"}, KEY).description()
    assert not any(b"hunter" in row.value for row in await rows_of(place))
    for wrong in (Seal({"secrets"}, bytes(32)), Seal()):
        with pytest.raises(BackupError, match=r"use the seal\.key of the plane that created the backup"):
            await restored(path, other, seal=wrong)
    await restored(path, other, seal=Seal({"secrets"}, KEY))
    again = await other.open(sealed={"secrets"}, key=KEY)
    assert [record.value for record in again.select(Scope("secrets"))] == [b"<1:hunter>"]
    await again.close()


async def test_commits_do_not_wait_for_a_backup(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "plane.db")
    place = SqlitePlace(tmp_path)
    place.path = tmp_path / "plane.db"
    await put(store, pod("p"), "1")
    async with place.source():
        await put(store, pod("p"), "2")
        began = time.monotonic()
        tidying = asyncio.create_task(store.tidy())
        await asyncio.sleep(0)
        await put(store, pod("p"), "3")
        await tidying
        await store.close()
        assert time.monotonic() - began < 4, "a wait for the reader ends after 5 s"


async def test_there_must_be_a_plane_to_back_up(place: Place, path: Path) -> None:
    with pytest.raises(StoreError, match=r"database not found|contains no plane in its schema"):
        await backed_up(place, path)
    assert list(path.parent.iterdir()) == []


async def test_the_jump_is_more_than_could_be_written_since(place: Place, path: Path) -> None:
    await (await place.open()).close()
    await backed_up(place, path)
    header = (await verify(path)).header
    assert revision_after(header, NOW - 50) == 1_000_000_000
    assert revision_after(header, NOW + 3_600) == 1_000_000_000 + 3_600 * 100_000
