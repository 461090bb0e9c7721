"""Reads older changes, which are no longer in memory, from the log in the database."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import asyncpg

from homeostat.store.base import Event, Key, Record, Scope, StoreError
from homeostat.store.log import canonical
from homeostat.store.postgres.database import Connection, Row
from homeostat.store.postgres.link import Link
from homeostat.store.rows import EVENT_COLUMNS, RECORD_COLUMNS, event_of, record_of
from homeostat.store.seal import Seal

_MOST_EVENTS = 256  # of one read
_MOST_BYTES = 2 << 20
_VALUE = 5  # the place in EVENT_COLUMNS

_IN_SCOPE = """
    log.revision > $1 AND log.revision <= $2 AND log.resource = $3
    AND ($4 = '' AND $5 = '' OR log.namespace = $4) AND ($5 = '' OR log.name = $5)
"""
_EVENTS = f"""
    SELECT {EVENT_COLUMNS} FROM (
        SELECT *, sum(octet_length(value)) OVER (ORDER BY revision) - octet_length(value) AS bytes_before
        FROM (SELECT * FROM log WHERE {_IN_SCOPE} ORDER BY revision LIMIT {_MOST_EVENTS}) AS next
    ) AS log LEFT JOIN log AS old ON old.revision = log.previous
    WHERE log.bytes_before < {_MOST_BYTES} ORDER BY log.revision
"""  # noqa: S608
_FIRST_CHANGES = f"""
    SELECT DISTINCT ON (resource, namespace, name) resource, namespace, name, previous FROM log
    WHERE {_IN_SCOPE} ORDER BY resource, namespace, name, revision
"""  # noqa: S608
_RECORDS = f"SELECT {RECORD_COLUMNS} FROM log WHERE log.revision = ANY($1::bigint[])"  # noqa: S608


class PostgresArchive:
    """`note_compacted` gets the compacted revision before a result is used, because any replica may have compacted."""

    def __init__(self, link: Link, seal: Seal, note_compacted: Callable[[int], None]) -> None:
        self._link = link
        self._seal = seal
        self._note_compacted = note_compacted

    async def events(self, scope: Scope, *, after: int, upto: int) -> tuple[list[Event], int]:
        rows = await self._read(_EVENTS, after, upto, *scope)
        events = [event_of(row, self._seal) for row in rows]
        # In stored bytes, as the database counts them: sealing adds some.
        is_whole = len(rows) < _MOST_EVENTS and sum(len(row[_VALUE]) for row in rows) < _MOST_BYTES
        return events, upto if is_whole else events[-1].record.revision

    async def first_changes(self, scope: Scope, *, after: int, upto: int) -> dict[Key, int]:
        rows = await self._read(_FIRST_CHANGES, after, upto, *scope)
        return {canonical(*key): previous for *key, previous in rows}

    async def records(self, revisions: Sequence[int]) -> list[Record]:
        rows = await self._read(_RECORDS, list(revisions))
        found = {record.revision: record for record in (record_of(row, self._seal) for row in rows)}
        lacking = [revision for revision in revisions if revision not in found]
        if lacking:
            raise StoreError(f"the store is corrupt: revision {lacking[0]} is missing; restore a backup")
        return [found[revision] for revision in revisions]

    async def _read(self, sql: str, *given: object) -> list[Row]:
        async def query(connection: Connection) -> tuple[list[Row], int]:
            rows = await connection.fetch(sql, *given)
            # Read afterwards: the mark is raised before rows are deleted, so it explains every missing row.
            return rows, await connection.fetchval("SELECT compacted FROM mark")

        try:
            rows, compacted = await self._link.run(query)
        except asyncpg.PostgresError as error:
            raise StoreError(f"cannot read the store: {error}") from error
        self._note_compacted(compacted)
        return rows
