"""The store on SQLite: one process, one file, one writing thread."""

from homeostat.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
