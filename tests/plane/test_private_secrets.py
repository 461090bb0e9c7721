"""Secrets that faces keep in the plane's database: on SQLite and PostgreSQL, shared by replicas, sealed."""

from __future__ import annotations

from pathlib import Path

import pytest

from homeostat.objects.errors import InternalError
from homeostat.plane.private_secrets import RESOURCE, StoreSecrets
from homeostat.server.pki.private_file import write_private
from homeostat.store.base import Key, Store
from tests.store.conftest import postgres, store, store_factory

__all__ = ["postgres", "store", "store_factory"]


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    write_private(tmp_path / "seal.key", b"k" * 32)
    return tmp_path / "seal.key"


async def test_replicas_share_one_value(store: Store, key_file: Path) -> None:
    one, other = StoreSecrets(store, key_file), StoreSecrets(store, key_file)
    assert await one.create("key", b"first") == b"first"
    assert await other.create("key", b"second") == b"first"
    assert await other.read("key") == b"first"
    await one.delete("key")
    await other.delete("key")
    assert await one.read("key") is None


async def test_the_database_holds_no_value_in_clear(store: Store, key_file: Path) -> None:
    await StoreSecrets(store, key_file).create("key", b"a very private value")
    record = store.get(Key(RESOURCE, "", "key"))
    assert record is not None
    assert b"private value" not in record.value


async def test_another_key_does_not_open_it(store: Store, key_file: Path, tmp_path: Path) -> None:
    await StoreSecrets(store, key_file).create("key", b"value")
    write_private(tmp_path / "other.key", b"o" * 32)
    with pytest.raises(InternalError, match="different key"):
        await StoreSecrets(store, tmp_path / "other.key").read("key")


async def test_a_value_that_was_moved_to_another_name_is_refused(store: Store, key_file: Path) -> None:
    from homeostat.store.base import Draft, Put

    secrets = StoreSecrets(store, key_file)
    await secrets.create("low", b"value")
    record = store.get(Key(RESOURCE, "", "low"))
    assert record is not None
    head, _, tail = record.value.partition(str(record.revision).encode())
    await store.write(Put(Key(RESOURCE, "", "high"), Draft(head, tail), 0))
    with pytest.raises(InternalError, match="altered"):
        await secrets.read("high")
