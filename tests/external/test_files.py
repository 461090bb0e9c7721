"""A file is replaced as a whole, or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from homeostat.external.files import (
    PARTIAL,
    FileTooLargeError,
    read_limited,
    replace_file,
    replace_private_file,
    replacing,
)


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_readers_have_the_old_contents_until_all_of_the_new_are_there(tmp_path: Path) -> None:
    path = tmp_path / "lock.json"
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"n")
        file.flush()
        assert path.read_bytes() == b"old"
        assert [each.name for each in tmp_path.iterdir() if each.name.endswith(PARTIAL)] != []
        file.write(b"ew")
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"new", [path])


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "lock.json"
    path.write_bytes(b"old")

    def fail() -> None:
        with replacing(path) as file:
            file.write(b"new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"old", [path])


def test_the_last_of_two_writers_wins(tmp_path: Path) -> None:
    path = tmp_path / "lock.json"
    with replacing(path) as first:
        with replacing(path) as second:
            second.write(b"second")
        first.write(b"first")
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"first", [path])


def test_a_name_may_be_as_long_as_names_can_be(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.usefixtures("umask")
def test_a_new_file_has_the_permissions_that_the_umask_leaves(tmp_path: Path) -> None:
    replace_file(tmp_path / "a", b"")
    replace_file(tmp_path / "b", b"", mode=0o600)
    assert (_mode(tmp_path / "a"), _mode(tmp_path / "b")) == (0o640, 0o600)


@pytest.mark.usefixtures("umask")
def test_only_the_user_may_read_a_private_file_and_its_new_directories(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secrets"
    replace_private_file(path, b"x")
    assert (_mode(path), _mode(path.parent), path.read_bytes()) == (0o600, 0o700, b"x")


def test_a_file_beyond_the_limit_is_an_error_that_names_it(tmp_path: Path) -> None:
    (path := tmp_path / "values.yaml").write_bytes(b"12345")
    assert read_limited(path, 5) == b"12345"
    with pytest.raises(FileTooLargeError) as caught:
        read_limited(path, 4)
    assert (caught.value.strerror, caught.value.filename) == ("it has more than 4 bytes", str(path))


def test_a_file_without_an_end_is_read_up_to_the_limit() -> None:
    with pytest.raises(FileTooLargeError):
        read_limited(Path("/dev/zero"), 1000)
