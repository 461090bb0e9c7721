"""The SQL statements that commit batches and read new rows, with their parameters.

A commit is one statement. It enters the commit section, an advisory lock that one transaction holds until its end, and
writes only if the revision it was planned on is still the newest, and of the same history. So batches are serialised,
and revisions are assigned in the order of commits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import asyncpg

from homeostat.store.base import Event
from homeostat.store.log import Outcome
from homeostat.store.postgres.database import Connection, Row
from homeostat.store.rows import OPERATIONS
from homeostat.store.seal import Seal

_MOST_ROWS = 256  # rows per query
_MOST_BYTES = 8 << 20

# An outdated base is detected by the batch that follows it. If that batch was compacted, the mark shows it, which is
# read in its newest version and locked until the end.
_COMMIT = """
WITH section AS MATERIALIZED (
    SELECT pg_advisory_xact_lock($1)
), base AS MATERIALIZED (
    SELECT id FROM mark
    WHERE id = 1 AND compacted <= $2 AND (SELECT count(*) FROM section) = 1
        AND ($14::bigint = 0 OR EXISTS (SELECT FROM batch WHERE first = $14 AND writer = $15 AND number = $16))
    FOR SHARE
), batch AS (
    INSERT INTO batch (first, last, writer, number, at)
    SELECT $2 + 1, $2 + cardinality($5::text[]), $3, $4, clock_timestamp() FROM base
    ON CONFLICT (first) DO NOTHING RETURNING first
), logged AS (
    INSERT INTO log (revision, resource, namespace, name, operation, created, previous, value)
    SELECT $2 + row.number, row.resource, row.namespace, row.name, row.operation, row.created, row.previous, row.value
    FROM batch, unnest($5::text[], $6::text[], $7::text[], $8::smallint[], $9::bigint[], $10::bigint[], $11::bytea[])
        WITH ORDINALITY AS row (resource, namespace, name, operation, created, previous, value, number)
)
SELECT pg_notify($12, $13) FROM batch
"""
_SKIP = "INSERT INTO batch (first, last, writer, number, at) VALUES ($1, $2, $3, 0, clock_timestamp())"
NEWEST = "coalesce((SELECT last FROM batch ORDER BY first DESC LIMIT 1), 0)"
LAST_BATCH = "SELECT first, last, writer, number FROM batch ORDER BY first DESC LIMIT 1"
_TAIL = f"""
SELECT newest.first, newest.writer, newest.number, coalesce(newest.last, 0), mark.compacted,
    (SELECT max(number) FROM batch WHERE first > $1 AND writer = $2),
    (SELECT writer = $4 AND number = $5 FROM batch WHERE first = $3), tail.*
FROM mark LEFT JOIN ({LAST_BATCH}) AS newest ON true LEFT JOIN LATERAL (
    SELECT *, sum(octet_length(value)) OVER (ORDER BY revision) - octet_length(value) AS bytes_before FROM (
        SELECT revision, resource, namespace, name, operation, created, previous, value
        FROM log WHERE revision > $1 ORDER BY revision LIMIT {_MOST_ROWS}
    ) AS next
) AS tail ON tail.bytes_before < {_MOST_BYTES}
WHERE mark.id = 1
ORDER BY tail.revision
"""  # noqa: S608
_PLACE, _MARKS = 3, 7
# Changes nothing, but when it has committed, everything committed before it is just as durable.
_CHECK = "UPDATE mark SET compacted = compacted"


class Place(NamedTuple):
    """Identifies a batch, and so distinguishes two histories that have the same revisions."""

    first: int
    writer: UUID
    number: int


BEGINNING = Place(0, UUID(int=0), 0)
"""The place of an empty log."""


class Planned(NamedTuple):
    """A batch that was planned on the revision `base`."""

    number: int
    base: int
    outcomes: list[Outcome]
    events: list[Event]


class LogTail(NamedTuple):
    """A consistent read of the end of the log: the newest revision, and the first rows after a given one."""

    place: Place
    newest: int
    compacted: int
    batch: int
    """The newest own batch after that revision; 0 for none."""
    has_place: bool | None
    """Whether the batch at the given place is the same one; None if there is no batch."""
    rows: list[Row]


class BatchWriter:
    """Writes the batches of one replica and notifies `channel`."""

    def __init__(self, writer: UUID, channel: str, section: int, seal: Seal) -> None:
        self._writer, self._channel, self._section = writer, channel, section
        self._seal = seal

    async def enter_section(self, connection: Connection) -> None:
        """Begin a transaction that holds the commit section."""
        await connection.execute(f"BEGIN; SELECT pg_advisory_xact_lock({self._section})")

    def place_of(self, planned: Planned) -> Place:
        return Place(planned.base + 1, self._writer, planned.number)

    async def hold_section(self, connection: Connection) -> None:
        """Hold the commit section until the end of the transaction."""
        await connection.fetchval("SELECT pg_advisory_xact_lock($1)", self._section)

    async def skip_to(self, connection: Connection, revision: int, *, newest: int) -> None:
        """Insert an empty batch, so that the next revision is above `revision`."""
        # Number 0 belongs to no attempt to commit.
        await connection.execute(_SKIP, newest + 1, revision, self._writer)
        await connection.fetchval("SELECT pg_notify($1, '')", self._channel)

    async def commit(self, connection: Connection, planned: Planned, at: Place) -> bool:
        """Whether the batch was written: `planned.base` is still the newest revision, in the history of `at`."""
        columns = _columns(planned.events, self._seal)
        given = (self._section, planned.base, self._writer, planned.number, *columns, self._channel, self._writer.hex)
        try:
            return await connection.fetchrow(_COMMIT, *given, *at) is not None
        except asyncpg.UniqueViolationError:
            return False  # planned while a batch of another replica was only partly applied

    async def check_commits(self, connection: Connection) -> None:
        """Commit a change of nothing: shows that commits work, and makes all commits before it durable."""
        await connection.execute(_CHECK)

    async def read_tail(self, connection: Connection, *, after: int, at: Place) -> LogTail:
        rows = await connection.fetch(_TAIL, after, self._writer, *at)
        newest, compacted, batch, has_place = rows[0][_PLACE:_MARKS]
        place = Place(*rows[0][:_PLACE]) if newest else BEGINNING
        following = [row[_MARKS:-1] for row in rows if row[_MARKS] is not None]
        return LogTail(place, newest, compacted, batch or 0, has_place, following)


def _columns(events: Sequence[Event], seal: Seal) -> tuple[list[object], ...]:
    records = [event.record for event in events]
    keys = [record.key for record in records]
    return (
        [key.resource for key in keys],
        [key.namespace for key in keys],
        [key.name for key in keys],
        [OPERATIONS[event.type] for event in events],
        [record.created for record in records],
        [event.previous.revision if event.previous is not None else 0 for event in events],
        [seal.close(record.key, record.revision, record.value) for record in records],
    )
