"""Killed at any moment, a restore leaves an empty store or a whole one."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.backups import PostgresPlace, SqlitePlace, backed_up, restored, state_of
from tests.store.contract import pod, put
from tests.store.refill import MOMENTS

ROOT = Path(__file__).parents[3]


async def kill_at(moment: str, path: Path, *database: str) -> None:
    filling = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.store.refill", str(path), moment, *database, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert filling.stdout is not None
    said = await asyncio.wait_for(filling.stdout.readline(), 30)
    filling.kill()
    await filling.wait()
    assert said.decode() == f"{moment}\n"


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_killed_restore_leaves_nothing_or_everything(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str, moment: str
) -> None:
    path, place = tmp_path / "a.backup", SqlitePlace(tmp_path)
    store = await place.open()
    # More than SQLite's page cache holds, so that some of it is on disk before the commit.
    await asyncio.gather(*(put(store, pod(f"p{number}"), "x" * 5_000) for number in range(1_000)))
    before = state_of(store)
    await backed_up(place, path)
    await store.close()

    other: SqlitePlace | PostgresPlace
    if kind == "postgres":
        other = PostgresPlace(request.getfixturevalue("postgres").url)
        await kill_at(moment, path, other.url, other.schema)
    else:
        other = SqlitePlace(tmp_path)
        await kill_at(moment, path, str(other.path))
    if moment != "kept":
        await restored(path, other)  # which is refused by a store that is not empty
    again = await other.open()
    assert state_of(again) == before
    await again.close()
