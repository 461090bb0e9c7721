"""Migrations: an older database is brought up to date with all its records, or left to the version before."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from homeostat.cli.doctor.data import check_data
from homeostat.runtime.checkup import Finding
from homeostat.store import migration
from homeostat.store.base import StoreError
from tests.store.contract import SqliteFactory, StoreFactory, pod, put

NEW = "CREATE TABLE shelf (name text);"
INVALID = "CREATE TABLE other (name text); CREATE TABLE shelf (name text);"

Release = Callable[..., None]


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Release:
    """From then on the program is a version that has these further migrations; without any it is this one again."""
    ours = migration._FOLDER

    def to(*texts: str) -> None:
        folder = tmp_path / f"migrations-{len(texts)}"
        shutil.copytree(ours, folder, dirs_exist_ok=True)
        for database in ("sqlite", "postgres"):
            for number, text in enumerate(texts, 2):
                (folder / database / f"{number:04}_later.sql").write_text(text)
        monkeypatch.setattr(migration, "_FOLDER", folder)

    return to


async def test_an_older_database_is_migrated_once_and_keeps_its_records(
    store_factory: StoreFactory, release: Release
) -> None:
    store = await store_factory.open()
    written = await put(store, pod("a"), "1")
    await store.close()
    release(NEW)
    for _ in range(2):
        store = await store_factory.open()
        assert store.get(pod("a")) == written
        await store.close()
    release()
    with pytest.raises(StoreError, match=r"has schema 2, and this is homeostat .* supports up to 1; use the version"):
        await store_factory.open()


async def test_a_failed_migration_leaves_the_database_to_the_version_before(
    store_factory: StoreFactory, release: Release
) -> None:
    store = await store_factory.open()
    written = await put(store, pod("a"), "1")
    await store.close()
    release(NEW, INVALID)
    with pytest.raises(StoreError, match="shelf"):
        await store_factory.open()
    release()
    store = await store_factory.open()
    assert store.get(pod("a")) == written
    assert (await put(store, pod("b"), "2")).revision > written.revision
    await store.close()


async def test_doctor_says_that_a_start_would_migrate_an_older_database(tmp_path: Path, release: Release) -> None:
    await (await SqliteFactory(tmp_path).open()).close()
    assert database_of(tmp_path).result == "OK"
    release(NEW)
    found = database_of(tmp_path)
    assert (found.result, "has schema 1" in found.detail, "migrates it" in found.remedy) == ("WARN", True, True)


def database_of(data: Path) -> Finding:
    (found,) = [each for each in check_data(data, None, datetime.now(UTC)) if each.check == "database"]
    return found
