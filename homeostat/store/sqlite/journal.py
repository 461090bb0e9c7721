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
        self._path = database.with_name(database.name + "-wal")
        self.is_long = False
        """Once it is, commits overwrite it; it was tried once, where the disk had no room."""

    @property
    def is_oversize(self) -> bool:
        return self._size() > JOURNAL_BYTES

    def lengthen(self) -> None:
        """Only in the thread that commits: nobody else may lengthen the file meanwhile."""
        self.is_long = True
        with suppress(OSError):  # a disk without room is told by the commits that need it
            file = os.open(self._path, os.O_WRONLY)
            try:
                at = os.fstat(file).st_size
                while at < JOURNAL_BYTES:
                    at += os.pwrite(file, _STEP[: JOURNAL_BYTES - at], at)
            finally:
                os.close(file)

    def _size(self) -> int:
        with suppress(FileNotFoundError):
            return self._path.stat().st_size
        return 0
