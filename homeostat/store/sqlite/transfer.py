"""A database file as the source or the target of a backup or a move.

A source is a read transaction on its own connection: it sees a consistent snapshot, needs no lock and blocks no writer,
but the write-ahead log grows until it ends. A target is one transaction, under the lock of the process that serves the
file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TypeVar

from homeostat.store.backup.rows import Chunker, Contents, Row
from homeostat.store.base import StoreError
from homeostat.store.seal import Seal
from homeostat.store.sqlite.lock import Lock
from homeostat.store.sqlite.schema import (
    RESTORED,
    check_seal,
    connect_reader,
    connect_writer,
    is_restored,
    require_readable,
)
from homeostat.store.thread import ConnectionThread

T = TypeVar("T")

_ROWS = "SELECT revision, resource, namespace, name, operation, created, previous, value FROM log ORDER BY revision"
_CONTENTS = """
    SELECT max(coalesce(max(revision), 0), compacted), compacted, swept, count(revision),
        count(revision) FILTER (WHERE operation < 3) - count(revision) FILTER (WHERE previous > 0 AND revision > swept)
    FROM (SELECT (SELECT value FROM meta WHERE name = 'compacted') AS compacted,
        (SELECT value FROM meta WHERE name = 'swept') AS swept) LEFT JOIN log
"""
_INSERT = "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"


class _Chunks:
    """Reads the rows of a connection, one chunk per call, in the thread of the connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._rows: sqlite3.Cursor | None = None

    def next_chunk(self) -> list[Row]:
        """Returns an empty list at the end."""
        if self._rows is None:
            self._rows = self._connection.execute(_ROWS)
        chunker = Chunker()
        for row in self._rows:
            if chunk := chunker.add(row):
                return chunk
        return chunker.rest()  # the next call returns an empty list, because the cursor has ended


class _Snapshot(_Chunks):
    def __init__(self, path: Path, *, is_exclusive: bool) -> None:
        if not path.exists():
            raise StoreError(f'database not found: "{path}"')
        with ExitStack() as undo:
            if is_exclusive:
                undo.callback(Lock.take(path).release)
            super().__init__(connect_reader(path))
            undo.callback(self._connection.close)
            require_readable(self._connection, path)
            self._connection.execute("BEGIN")
            self.contents = self._read_contents()
            self.is_restored = is_restored(self._connection)
            self._undo = undo.pop_all()

    def close(self) -> None:
        self._undo.close()

    def _read_contents(self) -> Contents:
        query = self._connection.execute
        revision, oldest, swept, rows, records = query(_CONTENTS).fetchone()
        row = query("SELECT value FROM meta WHERE name = 'seal'").fetchone()
        seal = row[0] if row else ""
        return Contents(revision=revision, oldest=oldest, swept=swept, rows=rows, records=records, seal=seal)


class _Filling(_Chunks):
    def __init__(self, path: Path, seal: Seal, at: float) -> None:
        self._at = at
        with ExitStack() as undo:
            undo.callback(Lock.take(path).release)
            super().__init__(connect_writer(path))
            undo.callback(self._connection.close)
            self._connection.execute("BEGIN IMMEDIATE")
            self._require_empty(path)
            check_seal(self._connection, seal)
            self._undo = undo.pop_all()

    def add(self, rows: Sequence[Row]) -> None:
        self._connection.executemany(_INSERT, ((*row, self._at) for row in rows))

    def mark(self, oldest: int, swept: int, is_restored: bool) -> None:
        update = self._connection.executemany
        update("UPDATE meta SET value = ? WHERE name = ?", [(oldest, "compacted"), (swept, "swept")])
        if is_restored:
            self._connection.execute("INSERT INTO meta VALUES (?, ?)", (RESTORED, self._at))

    def commit(self) -> None:
        self._connection.execute("COMMIT")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Rolls back unless `commit` was called."""
        self._undo.close()

    def _require_empty(self, path: Path) -> None:
        (records,) = self._connection.execute("SELECT count(*) FROM state").fetchone()
        (revision,) = self._connection.execute(
            "SELECT max(coalesce(max(revision), 0), (SELECT value FROM meta WHERE name = 'compacted')) FROM log"
        ).fetchone()
        if revision:
            raise StoreError(
                f'"{path}" is not empty: it has {records} objects at revision {revision}; '
                "move it and its -wal away, or choose another database"
            )


class SqliteSource:
    def __init__(self, thread: ConnectionThread[_Snapshot], path: Path, found: tuple[Contents, bool]) -> None:
        self._thread, self._path = thread, path
        self.contents, self.is_restored = found

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path, *, is_exclusive: bool = False) -> AsyncIterator[SqliteSource]:
        """A snapshot of the file. `is_exclusive` refuses one that a plane serves, and keeps planes from serving it."""
        thread: ConnectionThread[_Snapshot] = ConnectionThread("store-source")
        try:
            with _naming_errors(path, "read"):
                await thread.connect(lambda: _Snapshot(path, is_exclusive=is_exclusive))
                found = await thread.run(lambda snapshot: (snapshot.contents, snapshot.is_restored))
            yield cls(thread, path, found)
        finally:
            await thread.close(_Snapshot.close)

    async def chunks(self) -> AsyncIterator[Sequence[Row]]:
        with _naming_errors(self._path, "read"):
            while rows := await self._thread.run(_Snapshot.next_chunk):
                yield rows


class SqliteTarget:
    def __init__(self, thread: ConnectionThread[_Filling], path: Path) -> None:
        self._thread, self._path = thread, path

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path, *, seal: Seal, now: float) -> AsyncIterator[SqliteTarget]:
        """A file that is empty or does not exist. It is filled completely at the end of the block, or not at all."""
        thread: ConnectionThread[_Filling] = ConnectionThread("store-target")
        try:
            with _naming_errors(path, "written"):
                await thread.connect(lambda: _Filling(path, seal, now))
            target = cls(thread, path)
            yield target
            await target._do(_Filling.commit)
        finally:
            await thread.close(_Filling.close)

    async def add(self, rows: Sequence[Row]) -> None:
        await self._do(lambda filling: filling.add(rows))

    async def chunks(self) -> AsyncIterator[Sequence[Row]]:
        while rows := await self._do(_Filling.next_chunk):
            yield rows

    async def mark(self, *, revision: int, oldest: int, swept: int, is_restored: bool) -> None:
        # The newest revision is the maximum of this mark and the revision of the last row.
        await self._do(lambda filling: filling.mark(oldest, swept, is_restored))

    async def _do(self, job: Callable[[_Filling], T]) -> T:
        with _naming_errors(self._path, "written"):
            return await self._thread.run(job)


@contextmanager
def _naming_errors(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f'"{path}" cannot be {what}: {error}') from error
