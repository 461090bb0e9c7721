from __future__ import annotations

from pathlib import Path

import pytest

from homeostat.server.pki.private_file import keep_private, make_private_directory, read_private, write_private


def test_a_private_file_is_its_owners_only(tmp_path: Path) -> None:
    write_private(tmp_path / "key", b"secret")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert read_private(tmp_path / "key") == b"secret"


def test_writing_again_replaces_and_leaves_nothing_behind(tmp_path: Path) -> None:
    write_private(tmp_path / "key", b"one")
    write_private(tmp_path / "key", b"two")
    assert read_private(tmp_path / "key") == b"two"
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_file_that_is_kept_is_the_first_one(tmp_path: Path) -> None:
    assert keep_private(tmp_path / "key", b"one") == b"one"
    assert keep_private(tmp_path / "key", b"two") == b"one"
    assert [path.name for path in tmp_path.iterdir()] == ["key"]
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "key").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_private(tmp_path / "key", b"two")
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_file_that_others_may_read_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"x")
    (tmp_path / "key").chmod(0o644)
    assert read_private(tmp_path / "key") == b"x"
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert read_private(tmp_path / "key") is None


def test_a_private_directory_is_made_or_closed(tmp_path: Path) -> None:
    make_private_directory(tmp_path / "a" / "b")
    (tmp_path / "c").mkdir(mode=0o755)
    make_private_directory(tmp_path / "c")
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a/b", "c")] == [0o700, 0o700]
