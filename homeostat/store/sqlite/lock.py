"""A lock that lets one process at a time open a database.

SQLite's own locks allow several. Two planes on one file would each serve a stale state. The lock is held on a file
beside the database while it is open, and is released when the process dies.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from homeostat.store.base import StoreError


class Lock:
    def __init__(self, path: Path) -> None:
        path.touch(mode=0o600)
        # SQLite can lock files on every system, and also between threads of one process.
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=0)

    @classmethod
    def take(cls, database: Path) -> Lock:
        real = database.resolve()  # so that links to the same file share the lock
        try:
            lock = cls(real.with_name(real.name + ".lock"))
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f'cannot create a lock file next to "{database}": {error}') from error
        try:
            lock._connection.execute("PRAGMA journal_mode = MEMORY")  # creates no journal file
            lock._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            lock.release()
            message = (
                f'"{database}" is in use; stop the process that serves it, or choose another data directory with --data'
            )
            raise StoreError(message) from error
        return lock

    def release(self) -> None:
        self._connection.close()
