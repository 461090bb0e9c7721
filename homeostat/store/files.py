"""Files on which much depends: written whole or not at all, for their owner alone, one process at a time. Blocking."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def private_beside(path: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """A new file next to where it is wanted, to be moved there once it is synced; gone afterwards unless it was."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    opened = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(opened, "wb") as file:
            yield file, beside
    finally:
        beside.unlink(missing_ok=True)


def sync_file(file: BinaryIO) -> None:
    """What was written to it is on disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_directory(directory: Path) -> None:
    """What was moved into it is on disk."""
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """One at a time, whichever process it is. The lock goes with the open file, also where the process dies."""
    opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)
