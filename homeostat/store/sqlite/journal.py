"""The file of the write-ahead log, made long before it is full.

A commit that lengthens the file waits for the file system's own journal too; one that overwrites what is there does
not. What lies behind the last commit means nothing to SQLite: its frames carry a number that is new each time the log
begins again.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

JOURNAL_BYTES = 8 << 20
"""As long as the file is made, and as long as it stays."""
_STEP = bytes(1 << 20)


class Journal:
    def __init__(self, database: Path) -> None:
        database = database.resolve()  # beside the file itself, and not beside a link to it
        self._path = database.with_name(database.name + "-wal")
        self.is_long = False
        """Then commits overwrite it."""
        self.was_tried = False

    @property
    def is_oversize(self) -> bool:
        return self._size() > JOURNAL_BYTES

    def lengthen(self) -> None:
        """Only in the thread that commits: nobody else may lengthen the file meanwhile. Where there is little room, it
        is left to the database, which could not take in the log otherwise.
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
