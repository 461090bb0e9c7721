"""The writing connection: commits, compaction and upkeep. Everything here runs in the writer's thread.

Every method is few statements, whatever the number of rows: each statement lets go of the interpreter's lock, and under
load it takes up to 5 ms to get it back.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from itertools import chain, repeat
from pathlib import Path
from typing import NamedTuple

from homeostat.store.base import Event, Record
from homeostat.store.rows import record_of
from homeostat.store.seal import Seal
from homeostat.store.sqlite.journal import JOURNAL_BYTES, Journal
from homeostat.store.sqlite.lock import Lock
from homeostat.store.sqlite.rows import COLUMNS, parameters
from homeostat.store.sqlite.schema import BUSY_MS, check_seal, connect_writer

_MOST_ROWS = 256  # of one statement
_PAGE_BYTES = 4096
_COMMIT_BYTES = 2 * _PAGE_BYTES  # of the log, beside those of the rows
_LASTING_BYTES = 256 << 10  # whoever writes that much will write more
_CHECKPOINT_BYTES = JOURNAL_BYTES * 3 // 4  # the rest is for what is committed until it has been brought in
_MARKS = ("compacted", "swept")


class Loaded(NamedTuple):
    """What a database holds when it is opened."""

    records: list[Record]
    """In the order of their keys."""
    revision: int
    compacted: int
    swept: int
    size_bytes: int


class Writer:
    def __init__(self, path: Path, seal: Seal) -> None:
        self._lock = Lock.take(path)
        try:
            self._connection = connect_writer(path)
        except BaseException:
            self._lock.release()
            raise
        self._seal = seal
        self._journal = Journal(path)
        self._unchecked_bytes = 0

    def load(self) -> Loaded:
        check_seal(self._connection, self._seal)
        ask = self._connection.execute
        compacted, swept = (ask("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()[0] for name in _MARKS)
        (newest,) = ask("SELECT coalesce(max(revision), 0) FROM log").fetchone()
        rows = ask(
            # The key is the state's and not the log's, to name what the log lacks.
            "SELECT state.resource, state.namespace, state.name, state.revision, log.created, log.value"
            " FROM state LEFT JOIN log USING (revision) ORDER BY state.resource, state.namespace, state.name"
        )
        records = [record_of(row, self._seal) for row in rows]
        return Loaded(records, max(newest, compacted), compacted, swept, self.size_bytes())

    def commit(self, events: Sequence[Event], at: float) -> bool:
        """Put the events on disk, all or none; whether `check` is due."""
        if len(events) <= _MOST_ROWS:
            self._insert(events, at)
        else:
            with _Transaction(self._connection):
                for start in range(0, len(events), _MOST_ROWS):
                    self._insert(events[start : start + _MOST_ROWS], at)
        self._unchecked_bytes += _COMMIT_BYTES + sum(len(event.record.value) + _PAGE_BYTES for event in events)
        return self._unchecked_bytes >= (_CHECKPOINT_BYTES if self._journal.is_long else _LASTING_BYTES)

    def check(self) -> None:
        """Keep the write-ahead log as long as it should be."""
        if not self._journal.was_tried:
            self._journal.lengthen()
        if not self._journal.is_long or self._unchecked_bytes >= _CHECKPOINT_BYTES:
            self.checkpoint("PASSIVE")

    def checkpoint(self, mode: str) -> None:
        self._unchecked_bytes = 0
        self._connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()

    def empty_log(self) -> None:
        """Bring the write-ahead log into the database, and cut it if it is too long, unless somebody reads: a backup
        may take long, and commits wait for whoever waits for it."""
        if self._journal.is_oversize:
            self._cut_log()
            self._journal.is_long = False
        else:
            self.checkpoint("PASSIVE")
        self._journal.was_tried = self._journal.is_long  # there may be room again

    def _cut_log(self) -> None:
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            self.checkpoint("TRUNCATE")
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")

    def sweep(self, compacted: int, above: int, upto: int) -> None:
        """Delete what (`above`, `upto`] frees: what these changes took the place of, and deletions among them."""
        tell = self._connection.execute
        with _Transaction(self._connection):
            tell(
                "DELETE FROM log WHERE revision IN"
                " (SELECT previous FROM log WHERE revision > ? AND revision <= ? AND previous > 0)",
                (above, upto),
            )
            tell("DELETE FROM log WHERE revision > ? AND revision <= ? AND operation = 3", (above, upto))
            tell(
                "UPDATE meta SET value = iif(name = 'swept', ?, ?) WHERE name IN ('compacted', 'swept')",
                (upto, compacted),
            )

    def vacuum(self, pages: int) -> bool:
        """Give back up to this many free pages; whether there may be more."""
        (free,) = self._connection.execute("PRAGMA freelist_count").fetchone()
        if free:
            # A script, because `execute` would step this once, which is one page.
            self._connection.executescript(f"PRAGMA incremental_vacuum({pages})")
        return bool(free > pages)

    def size_bytes(self) -> int:
        (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
        (page_bytes,) = self._connection.execute("PRAGMA page_size").fetchone()
        return int(pages * page_bytes)

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._cut_log()  # the next start need not read the write-ahead log
        self._connection.close()
        self._lock.release()

    def _insert(self, events: Sequence[Event], at: float) -> None:
        size = 1 << (len(events) - 1).bit_length()
        padding = repeat(None, (size - len(events)) * COLUMNS)
        self._connection.execute(_insert_sql(size), list(chain(parameters(events, at, self._seal), padding)))


class _Transaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


@cache
def _insert_sql(size: int) -> str:
    """An insert of up to `size` rows: those whose revision is NULL are padding."""
    if size == 1:
        return f"INSERT INTO log VALUES ({', '.join('?' * COLUMNS)})"  # noqa: S608
    rows = ", ".join([f"({', '.join('?' * COLUMNS)})"] * size)
    return f"INSERT INTO log SELECT * FROM (VALUES {rows}) WHERE column1 IS NOT NULL"  # noqa: S608
