"""The writing connection: commits, compaction and upkeep. Everything here runs in the writer's thread.

Every method uses few statements, whatever the number of rows: each statement releases the interpreter's lock, and under
load it takes up to 5 ms to acquire it again.
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
from homeostat.store.sqlite.schema import BUSY_MS, RESTORED, check_seal, connect_writer, is_restored

_MOST_ROWS = 256  # per statement
_PAGE_BYTES = 4096
_COMMIT_BYTES = 2 * _PAGE_BYTES  # written to the log in addition to the rows
_LASTING_BYTES = 256 << 10  # a plane that writes this much will write more
_CHECKPOINT_BYTES = JOURNAL_BYTES * 3 // 4  # the rest is for commits until the checkpoint has ended
_MARKS = ("compacted", "swept")


class Loaded(NamedTuple):
    """The contents of a database when it is opened."""

    records: list[Record]
    """In the order of their keys."""
    revision: int
    compacted: int
    swept: int
    size_bytes: int
    is_restored: bool


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
        query = self._connection.execute
        compacted, swept = (query("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()[0] for name in _MARKS)
        (newest,) = query("SELECT coalesce(max(revision), 0) FROM log").fetchone()
        rows = query(
            # The key comes from the state, so that an error can name a record that the log lacks.
            "SELECT state.resource, state.namespace, state.name, state.revision, log.created, log.value"
            " FROM state LEFT JOIN log USING (revision) ORDER BY state.resource, state.namespace, state.name"
        )
        records = [record_of(row, self._seal) for row in rows]
        marked = is_restored(self._connection)
        return Loaded(records, max(newest, compacted), compacted, swept, self.size_bytes(), marked)

    def forget_restore(self) -> None:
        self._connection.execute("DELETE FROM meta WHERE name = ?", (RESTORED,))

    def commit(self, events: Sequence[Event], at: float) -> bool:
        """Commit the events, all or none; returns whether `check` is due."""
        if len(events) <= _MOST_ROWS:
            self._insert(events, at)
        else:
            with _Transaction(self._connection):
                for start in range(0, len(events), _MOST_ROWS):
                    self._insert(events[start : start + _MOST_ROWS], at)
        self._unchecked_bytes += _COMMIT_BYTES + sum(len(event.record.value) + _PAGE_BYTES for event in events)
        return self._unchecked_bytes >= (_CHECKPOINT_BYTES if self._journal.is_long else _LASTING_BYTES)

    def check(self) -> None:
        """Extend or checkpoint the write-ahead log if necessary."""
        if not self._journal.was_tried:
            self._journal.lengthen()
        if not self._journal.is_long or self._unchecked_bytes >= _CHECKPOINT_BYTES:
            self.checkpoint("PASSIVE")

    def checkpoint(self, mode: str) -> None:
        self._unchecked_bytes = 0
        self._connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()

    def empty_log(self) -> None:
        """Checkpoint the write-ahead log, and truncate it if it is too long. It does not wait for readers: a backup may
        take long, and commits would wait too."""
        if self._journal.is_oversize:
            self._cut_log()
            self._journal.is_long = False
        else:
            self.checkpoint("PASSIVE")
        self._journal.was_tried = self._journal.is_long  # the disk may have space again

    def _cut_log(self) -> None:
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            self.checkpoint("TRUNCATE")
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")

    def sweep(self, compacted: int, above: int, upto: int) -> None:
        """Delete the rows that the changes in (`above`, `upto`] replaced, and the deletions among them."""
        execute = self._connection.execute
        with _Transaction(self._connection):
            execute(
                "DELETE FROM log WHERE revision IN"
                " (SELECT previous FROM log WHERE revision > ? AND revision <= ? AND previous > 0)",
                (above, upto),
            )
            execute("DELETE FROM log WHERE revision > ? AND revision <= ? AND operation = 3", (above, upto))
            execute(
                "UPDATE meta SET value = iif(name = 'swept', ?, ?) WHERE name IN ('compacted', 'swept')",
                (upto, compacted),
            )

    def vacuum(self, pages: int) -> bool:
        """Free up to this many pages; returns whether there may be more."""
        (free,) = self._connection.execute("PRAGMA freelist_count").fetchone()
        if free:
            # A script, because `execute` would run one step only, which frees one page.
            self._connection.executescript(f"PRAGMA incremental_vacuum({pages})")
        return bool(free > pages)

    def size_bytes(self) -> int:
        (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
        (page_bytes,) = self._connection.execute("PRAGMA page_size").fetchone()
        return int(pages * page_bytes)

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._cut_log()  # the next start does not have to read the write-ahead log
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
