"""Preallocates the file of the write-ahead log.

A commit that extends the file also waits for the journal of the file system; a commit that overwrites it does not.
SQLite ignores the bytes after the last commit, because its frames carry a number that changes whenever the log is
restarted.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

JOURNAL_BYTES = 8 << 20
"""The size to which the file is extended, and at which it stays."""
_STEP = bytes(1 << 20)


class Journal:
    def __init__(self, database: Path) -> None:
        database = database.resolve()  # beside the real file, not beside a link to it
        self._path = database.with_name(database.name + "-wal")
        self.is_long = False
        """Whether the file is long enough for commits to overwrite it."""
        self.was_tried = False

    @property
    def is_oversize(self) -> bool:
        return self._size() > JOURNAL_BYTES

    def lengthen(self) -> None:
        """Call it only in the thread that commits, so that nobody else extends the file meanwhile. Does nothing if the
        disk is nearly full, because a checkpoint needs the space.
        """
        self.was_tried = True
        with suppress(OSError):
            file = os.open(self._path, os.O_WRONLY)
            try:
                lacking = JOURNAL_BYTES - os.fstat(file).st_size
                if lacking <= 0 or _room(file) >= lacking + JOURNAL_BYTES:
                    _fill(file)
                    self.is_long = True
            finally:
                os.close(file)

    def _size(self) -> int:
        with suppress(FileNotFoundError):
            return self._path.stat().st_size
        return 0


def _room(file: int) -> int:
    disk = os.fstatvfs(file)
    return disk.f_bavail * disk.f_frsize


def _fill(file: int) -> None:
    began = at = os.fstat(file).st_size
    try:
        while at < JOURNAL_BYTES:
            at += os.pwrite(file, _STEP[: JOURNAL_BYTES - at], at)
    except OSError:
        os.ftruncate(file, began)
        raise
