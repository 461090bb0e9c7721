"""Values encrypted at rest."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from homeostat.store.base import Key, Scope, StoreError
from homeostat.store.seal import Seal
from homeostat.store.sqlite import SqliteStore
from tests.store.contract import Subscriber, put, remove

KEY = bytes(range(32))
SECRET = Key("secrets", "default", "token")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plane.db"


def on_disk(path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in path.parent.glob("plane.db*"))


async def test_a_sealed_value_is_nowhere_on_disk_in_the_clear(path: Path) -> None:
    store = await SqliteStore.open(path, sealed={"secrets"}, key=KEY, history_events=0)
    await put(store, SECRET, "hunter-one")
    await put(store, SECRET, "hunter-two")
    await put(store, Key("configmaps", "default", "plain"), "visible")
    await remove(store, SECRET)
    await put(store, SECRET, "hunter-three")
    running = on_disk(path)
    subscriber = Subscriber()
    await store.subscribe(Scope("secrets"), since=0, deliver=subscriber)
    await store.close()

    for content in (running, on_disk(path)):
        assert b"hunter" not in content
        assert b"visible" in content
    assert [event.record.value for event in subscriber.events] == [
        b"<1:hunter-one>",
        b"<2:hunter-two>",
        b"<4:gone>",
        b"<5:hunter-three>",
    ]
    again = await SqliteStore.open(path, sealed={"secrets"}, key=KEY)
    assert [record.value for record in again.select(Scope("secrets"))] == [b"<5:hunter-three>"]
    await again.close()


@pytest.mark.parametrize(
    ("sealed", "key"),
    [
        pytest.param({"secrets"}, bytes(32), id="another-key"),
        pytest.param(set(), None, id="no-key"),
        pytest.param({"secrets", "configmaps"}, KEY, id="other-resources"),
    ],
)
async def test_a_database_is_opened_only_with_the_seal_it_was_made_with(
    path: Path, sealed: set[str], key: bytes | None
) -> None:
    store = await SqliteStore.open(path, sealed={"secrets"}, key=KEY)
    await put(store, SECRET, "hunter")
    await store.close()

    with pytest.raises(StoreError, match="the database is sealed as") as error:
        await SqliteStore.open(path, sealed=sealed, key=key)
    assert KEY.hex() not in str(error.value)


@pytest.mark.parametrize("key", [None, b"", b"short", bytes(33)])
async def test_sealing_needs_a_whole_key(path: Path, key: bytes | None) -> None:
    with pytest.raises(StoreError, match="needs a key of 32 bytes"):
        await SqliteStore.open(path, sealed={"secrets"}, key=key)


@pytest.mark.parametrize(
    "tamper",
    [
        pytest.param(
            "UPDATE log SET value = (SELECT value FROM log WHERE revision = 1) WHERE revision = 2", id="older"
        ),
        pytest.param(
            "UPDATE log SET value = (SELECT value FROM log WHERE revision = 3) WHERE revision = 2", id="other"
        ),
        pytest.param("UPDATE log SET value = substr(value, 1, 30) WHERE revision = 2", id="cut"),
        pytest.param("UPDATE log SET value = substr(value, 1, 5) WHERE revision = 2", id="cut-to-nothing"),
    ],
)
async def test_a_sealed_value_that_was_altered_or_moved_is_refused(path: Path, tamper: str) -> None:
    store = await SqliteStore.open(path, sealed={"secrets"}, key=KEY)
    await put(store, SECRET, "one")
    await put(store, SECRET, "two")
    await put(store, Key("secrets", "other", "token"), "three")
    await store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(tamper)
        connection.commit()

    with pytest.raises(StoreError, match='secrets "default/token" at revision 2 was altered'):
        await SqliteStore.open(path, sealed={"secrets"}, key=KEY)


def test_sealing_twice_gives_different_bytes() -> None:
    seal = Seal({"secrets"}, KEY)

    assert seal.close(SECRET, 1, b"x") != seal.close(SECRET, 1, b"x")
    assert seal.open(SECRET, 1, seal.close(SECRET, 1, b"x")) == b"x"


def test_a_group_is_sealed_when_it_is_written_and_what_was_stored_before_is_still_read() -> None:
    seal = Seal({"secrets", "*.example.com"}, KEY)
    for resource in ("types.example.com", "notes.resources.example.com"):
        key = Key(resource, "default", "one")
        stored = seal.close(key, 7, b'{"token":"open"}')
        assert b"open" not in stored
        assert seal.open(key, 7, stored) == b'{"token":"open"}'
        assert seal.open(key, 7, b'{"token":"open"}') == b'{"token":"open"}'
        with pytest.raises(StoreError, match="was altered on disk"):
            seal.open(key, 8, stored)
    other = Key("types.other.com", "", "one")
    assert seal.close(other, 1, b"{}") == b"{}"
    # A database that was made before is opened with the same description.
    assert seal.description() == Seal({"secrets"}, KEY).description()
