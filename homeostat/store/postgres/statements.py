"""What is said to the database about commits and news: the statements and their parameters.

A commit is one statement. It enters the commit section, a lock that one transaction at a time holds to its end, and
counts only if the revision it was planned on is still the newest, and of the same history. So batches follow each
other, and revisions are given in the order of commits.
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

_MOST_NEWS = 256  # rows of one answer
_MOST_NEWS_BYTES = 8 << 20

# A base that is older than the newest revision is found by the batch that follows it; if that was compacted, by the
# mark, which is read in its newest version and held until the end.
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
_NEWS = f"""
SELECT newest.first, newest.writer, newest.number, coalesce(newest.last, 0), mark.compacted,
    (SELECT max(number) FROM batch WHERE first > $1 AND writer = $2),
    (SELECT writer = $4 AND number = $5 FROM batch WHERE first = $3), news.*
FROM mark LEFT JOIN ({LAST_BATCH}) AS newest ON true LEFT JOIN LATERAL (
    SELECT *, sum(octet_length(value)) OVER (ORDER BY revision) - octet_length(value) AS bytes_before FROM (
        SELECT revision, resource, namespace, name, operation, created, previous, value
        FROM log WHERE revision > $1 ORDER BY revision LIMIT {_MOST_NEWS}
    ) AS next
) AS news ON news.bytes_before < {_MOST_NEWS_BYTES}
WHERE mark.id = 1
ORDER BY news.revision
"""  # noqa: S608
_PLACE, _MARKS = 3, 7
# Leaves everything as it is, and yet what was committed before it is as durable as this when it is answered.
_PROOF = "UPDATE mark SET compacted = compacted"


class Place(NamedTuple):
    """A batch, by which one history is told from another that has the same revisions."""

    first: int
    writer: UUID
    number: int


BEGINNING = Place(0, UUID(int=0), 0)
"""Of a log without a batch."""


class Planned(NamedTuple):
    """A batch as it would be committed on the revision `base`."""

    number: int
    base: int
    outcomes: list[Outcome]
    events: list[Event]


class News(NamedTuple):
    """What the database says at one moment: its newest revision, and some of the rows after the one asked about."""

    place: Place
    newest: int
    compacted: int
    batch: int
    """The replica's own newest batch after that revision; 0 for none."""
    has_place: bool | None
    """Whether the batch at the place asked about is that one; None: there is none."""
    rows: list[Row]


class Pen:
    """Writes batches in the name of one replica, and tells of them on `channel`."""

    def __init__(self, writer: UUID, channel: str, section: int, seal: Seal) -> None:
        self._writer, self._channel, self._section = writer, channel, section
        self._seal = seal

    async def enter_section(self, connection: Connection) -> None:
        """Begin a transaction in which nobody else commits."""
        await connection.execute(f"BEGIN; SELECT pg_advisory_xact_lock({self._section})")

    def place_of(self, planned: Planned) -> Place:
        return Place(planned.base + 1, self._writer, planned.number)

    async def hold_section(self, connection: Connection) -> None:
        """Until the end of the transaction."""
        await connection.fetchval("SELECT pg_advisory_xact_lock($1)", self._section)

    async def skip_to(self, connection: Connection, revision: int, *, newest: int) -> None:
        """A batch without a row, so that revisions go on behind `revision`."""
        # Number 0: it is nobody's try.
        await connection.execute(_SKIP, newest + 1, revision, self._writer)
        await connection.fetchval("SELECT pg_notify($1, '')", self._channel)

    async def commit(self, connection: Connection, planned: Planned, at: Place) -> bool:
        """Whether `planned.base` was still the newest revision, and `at` its history; if not, nothing was written."""
        columns = _columns(planned.events, self._seal)
        given = (self._section, planned.base, self._writer, planned.number, *columns, self._channel, self._writer.hex)
        try:
            return await connection.fetchrow(_COMMIT, *given, *at) is not None
        except asyncpg.UniqueViolationError:
            return False  # planned in the middle of another's batch, which was being read

    async def prove(self, connection: Connection) -> None:
        """Commit something that changes nothing: whether commits are taken, and all before are as safe as they get."""
        await connection.execute(_PROOF)

    async def read_news(self, connection: Connection, *, after: int, at: Place) -> News:
        rows = await connection.fetch(_NEWS, after, self._writer, *at)
        newest, compacted, batch, has_place = rows[0][_PLACE:_MARKS]
        place = Place(*rows[0][:_PLACE]) if newest else BEGINNING
        following = [row[_MARKS:-1] for row in rows if row[_MARKS] is not None]
        return News(place, newest, compacted, batch or 0, has_place, following)


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
