"""Opens the database file: its settings, and its tables with their migrations.

The number of the last migration is the `user_version` of the file. A file of a newer version of the program is refused.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

from homeostat.store.base import StoreError
from homeostat.store.migration import migrations, refusal_of_newer, refusal_of_other
from homeostat.store.seal import Seal
from homeostat.store.sqlite.journal import JOURNAL_BYTES

_APPLICATION_ID = 0x486F6D65
_OLDEST_SQLITE = (3, 37, 0)
BUSY_MS = 5_000
"""How long a statement waits for a lock."""
RESTORED = "restored"
"""The row of `meta` that marks a restored store."""


def connect_writer(path: Path) -> sqlite3.Connection:
    """The one connection that writes and checkpoints.

    There must never be a second one: SQLite before 3.51.3 can damage a database if two connections write or checkpoint
    at once.
    """
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old; 3.37 or newer is needed")
    # SQLite gives its other files the same mode.
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_MS / 1000)
    try:
        # Before the settings, of which some write to the file.
        _refuse_foreign(connection, path)
        _refuse_newer(connection, path)
        for setting in (
            "auto_vacuum = INCREMENTAL",  # has an effect only before the first table exists
            "journal_mode = WAL",
            "synchronous = FULL",
            "wal_autocheckpoint = 0",  # checkpoints run after the answers, not before
            f"journal_size_limit = {JOURNAL_BYTES}",
            "cache_size = -2048",
            "temp_store = MEMORY",
        ):
            connection.execute(f"PRAGMA {setting}")
        _migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(path: Path) -> sqlite3.Connection:
    # Not `as_uri`, which imports a client for HTTP since Python 3.14.
    address = f"file:{quote(bytes(path.absolute()))}?mode=ro"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=BUSY_MS / 1000)
    connection.execute("PRAGMA cache_size = -1024")
    return connection


def require_readable(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is not our database, or has another schema version."""
    _refuse_foreign(connection, path)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    newest = migrations("sqlite")[-1][0]
    if version != newest:
        raise refusal_of_other(f'"{path}"', version, newest)


def check_seal(connection: sqlite3.Connection, seal: Seal) -> None:
    description = seal.description()
    connection.execute("INSERT INTO meta VALUES ('seal', ?) ON CONFLICT DO NOTHING", (description,))
    (found,) = connection.execute("SELECT value FROM meta WHERE name = 'seal'").fetchone()
    if found != description:
        raise StoreError(f'the database is sealed as "{found}" (key id, resources), not as "{description}"')


def is_restored(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM meta WHERE name = ?", (RESTORED,)).fetchone() is not None


def _refuse_foreign(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != _APPLICATION_ID:
        raise StoreError(f'"{path}" is a database of another program')


def _refuse_newer(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    newest = migrations("sqlite")[-1][0]
    if version > newest:
        raise StoreError(refusal_of_newer(f'"{path}"', version, newest))


def _migrate(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    missing = [(number, text) for number, text in migrations("sqlite") if number > version]
    if missing:
        # All in one transaction: after a failure the version before can still open the database.
        steps = "\n".join(text for _, text in missing)
        connection.executescript(
            f"BEGIN IMMEDIATE;\n{steps}\n"
            f"PRAGMA application_id = {_APPLICATION_ID};\nPRAGMA user_version = {missing[-1][0]};\nCOMMIT;"
        )
