"""Reads older changes, which are no longer in memory. It runs in its own thread and never delays a commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from homeostat.store.base import Event, Key, Record, Scope, StoreError
from homeostat.store.log import canonical
from homeostat.store.rows import EVENT_COLUMNS, RECORD_COLUMNS, event_of, record_of
from homeostat.store.seal import Seal
from homeostat.store.sqlite.rows import scope_filter
from homeostat.store.sqlite.schema import connect_reader
from homeostat.store.thread import ConnectionThread

T = TypeVar("T")

_MOST_EVENTS = 256  # of one read
_MOST_BYTES = 2 << 20
_MOST_REVISIONS = 500


class Reader:
    def __init__(self, path: Path, seal: Seal) -> None:
        self._connection = connect_reader(path)
        self._seal = seal

    def events(self, scope: Scope, after: int, upto: int) -> tuple[list[Event], int]:
        condition, given = scope_filter(scope)
        rows = self._connection.execute(
            f"SELECT {EVENT_COLUMNS} FROM log LEFT JOIN log AS old ON old.revision = log.previous"  # noqa: S608
            f" WHERE log.revision > ? AND log.revision <= ? AND {condition} ORDER BY log.revision LIMIT {_MOST_EVENTS}",
            (after, upto, *given),
        )
        events: list[Event] = []
        size = 0
        for row in rows:
            events.append(event := event_of(row, self._seal))
            size += len(event.record.value)
            if size > _MOST_BYTES or len(events) == _MOST_EVENTS:
                rows.close()
                return events, event.record.revision
        return events, upto

    def first_changes(self, scope: Scope, after: int, upto: int) -> dict[Key, int]:
        condition, given = scope_filter(scope)
        # In SQLite, the columns beside a single min() come from the row with the minimum.
        rows = self._connection.execute(
            "SELECT resource, namespace, name, previous, min(revision) FROM log"  # noqa: S608
            f" WHERE revision > ? AND revision <= ? AND {condition} GROUP BY resource, namespace, name",
            (after, upto, *given),
        )
        return {canonical(*key): previous for *key, previous, _ in rows}

    def records(self, revisions: Sequence[int]) -> list[Record]:
        found: dict[int, Record] = {}
        for start in range(0, len(revisions), _MOST_REVISIONS):
            some = revisions[start : start + _MOST_REVISIONS]
            marks = ", ".join("?" * len(some))
            sql = f"SELECT {RECORD_COLUMNS} FROM log WHERE revision IN ({marks})"  # noqa: S608
            for row in self._connection.execute(sql, some):
                record = record_of(row, self._seal)
                found[record.revision] = record
        lacking = [revision for revision in revisions if revision not in found]
        if lacking:
            raise StoreError(f"the store is corrupt: revision {lacking[0]} is missing; restore a backup")
        return [found[revision] for revision in revisions]

    def first_between(self, after: int, *, earliest: float, latest: float) -> int | None:
        """The first revision after `after` that was committed within these times."""
        row = self._connection.execute(
            "SELECT revision FROM log WHERE revision > ? AND at > ? AND at <= ? ORDER BY revision LIMIT 1",
            (after, earliest, latest),
        ).fetchone()
        return row[0] if row else None

    def close(self) -> None:
        self._connection.close()


class SqliteArchive:
    """The reader, called from the event loop."""

    def __init__(self, thread: ConnectionThread[Reader]) -> None:
        self._thread = thread

    async def events(self, scope: Scope, *, after: int, upto: int) -> tuple[list[Event], int]:
        return await self._read(lambda reader: reader.events(scope, after, upto))

    async def first_changes(self, scope: Scope, *, after: int, upto: int) -> dict[Key, int]:
        return await self._read(lambda reader: reader.first_changes(scope, after, upto))

    async def records(self, revisions: Sequence[int]) -> list[Record]:
        return await self._read(lambda reader: reader.records(revisions))

    async def first_between(self, after: int, *, earliest: float, latest: float) -> int | None:
        return await self._read(lambda reader: reader.first_between(after, earliest=earliest, latest=latest))

    async def _read(self, read: Callable[[Reader], T]) -> T:
        try:
            return await self._thread.run(read)
        except sqlite3.Error as error:
            raise StoreError(f"cannot read the store: {error}") from error
