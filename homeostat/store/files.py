"""Atomic, private files and locks between processes. Blocking."""

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
    """A private temporary file in the directory of `path`, for the caller to rename. It is removed if it was not."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    opened = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(opened, "wb") as file:
            yield file, beside
    finally:
        beside.unlink(missing_ok=True)


def sync_file(file: BinaryIO) -> None:
    """Flush the file to disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_directory(directory: Path) -> None:
    """Make renames in the directory durable."""
    opened = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold an exclusive lock between processes. The kernel releases it if the process dies."""
    opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)
