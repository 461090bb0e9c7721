from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from homeostat.external.git.lock import file_lock
from homeostat.operators.sync.context import catalog as module
from homeostat.operators.sync.context.catalog import Catalog, change_catalog, read_catalog
from homeostat.operators.sync.engine.errors import ConflictError, NotFoundError, ValidationError


def _context(name: str) -> dict[str, object]:
    return {"name": name, "repository": {"filesystem": {"baseDir": "/srv"}}}


def _names(directory: Path) -> list[str]:
    return [each.name for each in directory.iterdir()]


async def test_changes_at_once_keep_all_contexts_and_leave_no_lock(tmp_path: Path) -> None:
    path, names = tmp_path / "inner" / "contexts.yaml", [f"c{each}" for each in range(20)]

    async def add(name: str) -> None:
        await change_catalog(path, lambda catalog: catalog.added(_context(name)))

    await asyncio.gather(*map(add, names))
    assert {each["name"] for each in (await read_catalog(path)).contexts} == set(names)
    assert _names(path.parent) == ["contexts.yaml"]


async def test_a_change_that_fails_keeps_the_file_and_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "contexts.yaml"
    await change_catalog(path, lambda catalog: catalog.added(_context("a")))
    before = path.read_bytes()
    with pytest.raises(ValidationError, match='context "a" already'):
        await change_catalog(path, lambda catalog: catalog.added(_context("a")))
    assert path.read_bytes() == before
    assert _names(tmp_path) == ["contexts.yaml"]


async def test_a_catalog_that_stays_locked_is_a_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOCKED_S", 0.02)
    async with file_lock(tmp_path / ".contexts.yaml.lock", timeout_s=1):
        with pytest.raises(ConflictError, match="try again"):
            await change_catalog(tmp_path / "contexts.yaml", lambda _: Catalog())


def test_without_a_current_context_the_error_says_how_to_add_or_to_choose_one() -> None:
    with pytest.raises(NotFoundError, match="add it: `context add -f FILE`"):
        Catalog().context()
    with pytest.raises(NotFoundError, match="choose one with --context"):
        Catalog((_context("a"),)).context()
