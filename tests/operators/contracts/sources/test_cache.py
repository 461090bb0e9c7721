"""The cache gives back what was put in or nothing, and stays below its limit."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from homeostat.external.oci.digest import digest_of
from homeostat.external.oci.errors import InvalidReferenceError
from homeostat.operators.contracts.sources.cache import BlobCache


def _files(folder: Path) -> list[Path]:
    return [each for each in folder.rglob("*") if each.is_file()]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    BlobCache(tmp_path / "a/b").write(digest_of(b"x"), b"x")
    assert BlobCache(tmp_path / "a/b").read(digest_of(b"x")) == b"x"
    assert BlobCache(tmp_path / "a/b").read(digest_of(b"y")) is None
    (file,) = _files(tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_damaged_file_is_removed_and_not_used(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path)
    cache.write(digest_of(b"whole"), b"whole")
    (file,) = _files(tmp_path)
    file.write_bytes(b"who")
    assert cache.read(digest_of(b"whole")) is None
    assert _files(tmp_path) == []


def test_the_files_used_least_recently_go_first(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path, limit_bytes=1000)
    blobs = [bytes([number]) * 300 for number in range(3)]
    for age, blob in zip((30, 20, 10), blobs, strict=True):
        cache.write(digest_of(blob), blob)
        path = tmp_path / digest_of(blob).replace(":", "/")
        os.utime(path, (time.time() - age, time.time() - age))
    assert cache.read(digest_of(blobs[0])) == blobs[0]
    cache.write(digest_of(b"z" * 300), b"z" * 300)
    assert [cache.read(digest_of(each)) is not None for each in blobs] == [True, False, False]
    assert sum(each.stat().st_size for each in _files(tmp_path)) <= 1000


def test_a_blob_larger_than_the_cache_is_not_kept(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path, limit_bytes=100)
    cache.write(digest_of(b"x" * 101), b"x" * 101)
    assert _files(tmp_path) == []


def test_what_a_killed_writer_left_is_removed_later(tmp_path: Path) -> None:
    (tmp_path / "sha256").mkdir()
    old, new = tmp_path / "sha256/a.partial", tmp_path / "sha256/b.partial"
    old.write_bytes(b"x")
    new.write_bytes(b"x")
    os.utime(old, (0, 0))
    BlobCache(tmp_path).write(digest_of(b"y"), b"y")
    assert (old.exists(), new.exists()) == (False, True)


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = BlobCache(tmp_path / "file")
    cache.write(digest_of(b"x"), b"x")
    assert cache.read(digest_of(b"x")) is None


@pytest.mark.parametrize("digest", ["sha256:../../x", "../x", "", "sha256:" + "A" * 64])
def test_no_name_leads_outside(tmp_path: Path, digest: str) -> None:
    with pytest.raises(InvalidReferenceError):
        BlobCache(tmp_path).write(digest, b"x")


def test_a_link_in_the_cache_is_not_followed(tmp_path: Path) -> None:
    cache, secret = BlobCache(tmp_path / "cache"), tmp_path / "secret"
    secret.write_bytes(b"x")
    path = tmp_path / "cache" / digest_of(b"x").replace(":", "/")
    path.parent.mkdir(parents=True)
    path.symlink_to(secret)
    assert cache.read(digest_of(b"x")) is None
    cache.write(digest_of(b"x"), b"x")
    assert not path.is_symlink()
    assert cache.read(digest_of(b"x")) == b"x"


_WRITER = """
import sys
from pathlib import Path
from homeostat.external.oci.digest import digest_of
from homeostat.operators.contracts.sources.cache import BlobCache
cache = BlobCache(Path(sys.argv[1]), limit_bytes=200_000)
for turn in range(200):
    data = bytes([turn % 20]) * 20_000
    cache.write(digest_of(data), data)
    held = cache.read(digest_of(data))
    assert held is None or held == data
"""


def test_processes_share_it_and_one_may_be_killed(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path)]) for _ in range(3)]
    time.sleep(0.3)
    writers[0].kill()
    assert [each.wait(60) for each in writers[1:]] == [0, 0]
    writers[0].wait(30)
    for path in _files(tmp_path):
        if not path.name.endswith(".partial"):
            assert digest_of(path.read_bytes()) == f"sha256:{path.name}"
