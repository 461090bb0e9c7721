"""Files that only their owner may read: keys, tokens, kubeconfigs.

A file is either as it was or as it was to be, whatever happens in between: written beside, synced, renamed. Blocking,
and meant for starts and commands.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def make_private_directory(directory: Path) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if directory.stat().st_mode & 0o077:
        directory.chmod(0o700)


def write_private(path: Path, data: bytes) -> None:
    with _beside(path, data) as written:
        written.replace(path)
    _sync(path.parent)


def keep_private(path: Path, data: bytes) -> bytes:
    """Make a file that is never changed, unless somebody was quicker; what is in it either way."""
    with _beside(path, data) as written, suppress(FileExistsError):
        os.link(written, path)
    _sync(path.parent)
    return path.read_bytes()


def read_private(path: Path) -> bytes | None:
    """What is in the file; None if there is none. One that others may read is closed to them first."""
    try:
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
        return path.read_bytes()
    except FileNotFoundError:
        return None


@contextmanager
def _beside(path: Path, data: bytes) -> Iterator[Path]:
    """A file with the data on disk, next to where it is wanted; gone afterwards unless it was moved."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(file, "wb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())
        yield beside
    finally:
        beside.unlink(missing_ok=True)


def _sync(directory: Path) -> None:
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
