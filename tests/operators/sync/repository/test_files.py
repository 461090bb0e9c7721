from __future__ import annotations

from pathlib import Path

import pytest

from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.tree.directory import TOO_LARGE
from homeostat.operators.sync.engine.tree.listing import resources
from homeostat.operators.sync.repository import files
from homeostat.operators.sync.repository.files import FileRepository


def put(base: Path, *names: str) -> None:
    for name in names:
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")


async def test_only_what_a_path_needs_is_read(tmp_path: Path) -> None:
    put(tmp_path, "a/_/metadata.yaml", "a/x/resource.json", "a/y/resource.json", "b/z/resource.json", "_/metadata.yaml")
    put(tmp_path, "a/_/c/_/metadata.yaml", "a/[x]/_/metadata.yaml")
    root = await FileRepository(tmp_path).load("/a/x", is_recursive=False)
    assert set(root.directories) == {"a", "_"}
    assert set(root.directories["a"].directories) == {"_", "x", "[x]"}
    assert "c" in root.directories["a"].directories["_"].directories


async def test_a_recursive_load_reads_all_below(tmp_path: Path) -> None:
    put(tmp_path, "a/x/resource.json", "a/x/l/y/resource.json", ".git/config")
    root = await FileRepository(tmp_path).load("/", is_recursive=True)
    assert resources(root, "/a", is_recursive=True) == ["/a/x", "/a/x/l/y"]
    assert ".git" not in root.directories


async def test_links_are_not_followed(tmp_path: Path) -> None:
    put(tmp_path / "out", "resource.json")
    (tmp_path / "repo" / "a").mkdir(parents=True)
    (tmp_path / "repo" / "a" / "link").symlink_to(tmp_path / "out")
    (tmp_path / "repo" / "a" / "resource.json").symlink_to(tmp_path / "out" / "resource.json")
    repository = FileRepository(tmp_path / "repo")
    root = await repository.load("/", is_recursive=True)
    assert resources(root, "/", is_recursive=True) == []
    for name in ("a/link/resource.json", "a/resource.json"):
        with pytest.raises(ValidationError):
            await repository.write({name: b"x"})
    assert (tmp_path / "out" / "resource.json").read_text() == "{}"


async def test_a_deletion_removes_empty_parents_and_keeps_others(tmp_path: Path) -> None:
    put(tmp_path, "a/x/resource.json", "a/_/metadata.yaml", "b/y/resource.json")
    await FileRepository(tmp_path).write({"a/x/resource.json": None, "b/y/resource.json": None})
    assert not (tmp_path / "b").exists()
    assert not (tmp_path / "a" / "x").exists()
    assert (tmp_path / "a" / "_" / "metadata.yaml").exists()


async def test_a_file_that_is_too_large_is_there_by_name_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "a/resource.json")
    monkeypatch.setattr(files, "LARGEST_FILE", 1)
    root = await FileRepository(tmp_path).load("/a", is_recursive=False)
    assert root.directories["a"].files["resource.json"] is TOO_LARGE
    with pytest.raises(ValidationError):
        root.directories["a"].read("resource.json")


async def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, *(f"a/{n}/resource.json" for n in range(5)))
    monkeypatch.setattr(files, "MOST_FILES", 4)
    with pytest.raises(ValidationError):
        await FileRepository(tmp_path).load("/a", is_recursive=True)
