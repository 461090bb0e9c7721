"""A bundle in a directory: what belongs to it, what is refused, and that the rest of a repository is not read."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.operators.contracts.engine.files import below
from homeostat.operators.contracts.sources.directory import Directory, DirectoryLimits
from homeostat.operators.contracts.sources.errors import InvalidBundleError, NotFoundError
from tests.operators.contracts.visible import visible


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("pacto.yaml", "docs/guide.md", "interfaces/api.yaml", "tmp/x", "a.bak", ".git/config"):
        path = tmp_path / "mill" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "mill"


def test_all_files_but_those_of_git_belong_to_the_bundle(folder: Path) -> None:
    files = Directory(folder)
    assert sorted(files) == ["a.bak", "docs/guide.md", "interfaces/api.yaml", "pacto.yaml", "tmp/x"]
    assert files.snapshot() == {name: name.encode() for name in files}
    assert len(files) == 5


def test_ignored_files_do_not_exist(folder: Path) -> None:
    (folder / ".pactoignore").write_text("tmp/\n*.bak\npacto.yaml\n")
    files = Directory(folder)
    assert sorted(files.snapshot()) == ["docs/guide.md", "interfaces/api.yaml", "pacto.yaml"]
    assert "tmp/x" not in files
    assert "a.bak" not in files
    assert files["pacto.yaml"] == b"pacto.yaml"


@pytest.mark.parametrize("path", ["", ".", "../other", "/etc/hostname", "docs/../pacto.yaml", "docs", "pacto.yaml/x"])
def test_what_is_not_a_file_of_the_bundle_is_not_read(folder: Path, path: str) -> None:
    (folder.parent / "other").write_text("x")
    assert path not in Directory(folder)


def test_a_link_is_refused_where_files_are_read_and_packed(folder: Path) -> None:
    (folder / "secret").symlink_to("/etc/hostname")
    (folder / "up").symlink_to("..")
    files = Directory(folder)
    with pytest.raises(InvalidBundleError, match=r"secret.*link"):
        files["secret"]
    with pytest.raises(InvalidBundleError, match="below a link"):
        files["up/mill/pacto.yaml"]
    with pytest.raises(InvalidBundleError, match="is a link"):
        files.snapshot()


def test_a_link_that_nobody_names_is_no_problem(folder: Path) -> None:
    (folder / "secret").symlink_to("/etc/hostname")
    assert "secret" not in sorted(Directory(folder))
    (folder / ".pactoignore").write_text("/secret\n")
    assert "secret" not in Directory(folder).snapshot()


def test_a_pipe_is_refused_and_does_not_block(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert "pipe" not in Directory(folder)
    with pytest.raises(InvalidBundleError, match="pipe"):
        Directory(folder).snapshot()


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        (DirectoryLimits(entries=4), "more than 4 entries"),
        (DirectoryLimits(file_bytes=5), "more than 5 bytes"),
        (DirectoryLimits(total_bytes=12), "more than 12 bytes"),
        (DirectoryLimits(path_length=6), "not a path"),
    ],
    ids=["entries", "file", "total", "path"],
)
def test_a_bundle_beyond_its_limits_is_refused(folder: Path, limits: DirectoryLimits, problem: str) -> None:
    with pytest.raises(InvalidBundleError, match=problem):
        Directory(folder, limits).snapshot()


def test_a_large_file_beside_the_contract_matters_only_to_those_who_read_it(folder: Path) -> None:
    with (folder / "dump").open("wb") as file:
        file.truncate(1 << 40)
    files = Directory(folder)
    assert files["pacto.yaml"]
    with pytest.raises(InvalidBundleError, match="dump"):
        files["dump"]


_names = st.sampled_from(["a", "b", "docs", "x.bak", ".git", ".DS_Store", "pacto.yaml"])
_trees = st.sets(st.lists(_names, min_size=1, max_size=3).map("/".join), min_size=1, max_size=8)
_rules = st.lists(
    st.sampled_from(
        ["a", "a/", "/a", "!a", "docs/*", "**/b", "*.bak", "!docs/x.bak", "a/**", "*", "!b/", "# x", "pacto.yaml"]
    ),
    max_size=4,
)


@given(_trees, _rules)
def test_what_is_read_from_disk_is_what_the_rules_leave(tree: set[str], rules: list[str]) -> None:
    paths = [path for path in tree if not any(other.startswith(f"{path}/") for other in tree)]
    files = {path: path.encode() for path in paths} | {".pactoignore": "\n".join(rules).encode()}
    with TemporaryDirectory() as root:
        for path, data in files.items():
            Path(root, path).parent.mkdir(parents=True, exist_ok=True)
            Path(root, path).write_bytes(data)
        found = Directory(root)
        assert found.snapshot() == visible(files)
        assert {path for path in files if path in found} == set(visible(files)) == set(found)
        for folder in {path.rpartition("/")[0] for path in paths} - {""}:
            assert set(found.below(folder)) == set(below(visible(files), folder))


@pytest.mark.parametrize(("path", "problem"), [("none", "does not exist"), ("mill/pacto.yaml", "is a file")])
def test_a_bundle_is_a_directory(folder: Path, path: str, problem: str) -> None:
    with pytest.raises(NotFoundError, match=problem):
        Directory(folder.parent / path)
