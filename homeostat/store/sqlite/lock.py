"""One process at a time has a database open.

SQLite's own locks allow many; two planes on one file would each serve a state the other has changed. The lock is held
on a file beside the database for as long as it is open, and a process that dies loses it.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from homeostat.store.base import StoreError


class Lock:
    def __init__(self, path: Path) -> None:
        path.touch(mode=0o600)
        # SQLite locks files on every system Python runs on, and between threads of a process too.
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=0)

    @classmethod
    def take(cls, database: Path) -> Lock:
        real = database.resolve()  # so that a link to it is no way around
        try:
            lock = cls(real.with_name(real.name + ".lock"))
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f'cannot create a lock file next to "{database}": {error}') from error
        try:
            lock._connection.execute("PRAGMA journal_mode = MEMORY")  # no second file beside it
            lock._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            lock.release()
            told = f'"{database}" is in use; stop the process that serves it, or use another data directory'
            raise StoreError(told) from error
        return lock

    def release(self) -> None:
        self._connection.close()
