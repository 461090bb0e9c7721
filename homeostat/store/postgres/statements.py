"""What is said to the database about commits and news: the statements and their parameters.

A commit is one statement. It counts only if the newest revision is still the one it was planned on; the row that says
so is locked by it until it has ended, so batches follow each other and revisions are given in the order of commits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from homeostat.store.base import Event
from homeostat.store.log import Outcome
from homeostat.store.postgres.database import Connection, Row
from homeostat.store.rows import OPERATIONS
from homeostat.store.seal import Seal

_MOST_NEWS = 256  # rows of one answer

_COMMIT = """
WITH moved AS (
    UPDATE head SET revision = $1 + cardinality($4::text[]) WHERE id = 1 AND revision = $1 RETURNING id
), told AS (
    INSERT INTO writer (id, batch, at) SELECT $2, $3, clock_timestamp() FROM moved
    ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, at = excluded.at
), logged AS (
    INSERT INTO log (revision, resource, namespace, name, operation, created, previous, value, at)
    SELECT $1 + row.number, row.resource, row.namespace, row.name, row.operation, row.created, row.previous, row.value,
        clock_timestamp()
    FROM moved, unnest($4::text[], $5::text[], $6::text[], $7::smallint[], $8::bigint[], $9::bigint[], $10::bytea[])
        WITH ORDINALITY AS row (resource, namespace, name, operation, created, previous, value, number)
)
SELECT pg_notify($11, $12) FROM moved
"""
_LOCK = "BEGIN; SELECT revision FROM head WHERE id = 1 FOR UPDATE"
_NEWS = f"""
SELECT head.revision, compaction.compacted, writer.batch, news.*
FROM head CROSS JOIN compaction LEFT JOIN writer ON writer.id = $2 LEFT JOIN LATERAL (
    SELECT revision, resource, namespace, name, operation, created, previous, value
    FROM log WHERE log.revision > $1 ORDER BY log.revision LIMIT {_MOST_NEWS}
) AS news ON true
WHERE head.id = 1 AND compaction.id = 1
ORDER BY news.revision
"""  # noqa: S608
_MARKS = 3


class Planned(NamedTuple):
    """A batch as it would be committed on the revision `base`."""

    number: int
    base: int
    outcomes: list[Outcome]
    events: list[Event]


class News(NamedTuple):
    """What the database says at one moment: its newest revision, and some of the rows after the one asked about."""

    head: int
    compacted: int
    batch: int
    """The newest of the asking replica's own batches; 0 for none."""
    rows: list[Row]


class Pen:
    """Writes batches in the name of one replica."""

    def __init__(self, writer: UUID, channel: str, seal: Seal) -> None:
        self._writer, self._channel = writer, channel
        self._seal = seal

    async def commit(self, connection: Connection, planned: Planned) -> bool:
        """Whether `planned.base` was still the newest revision; if not, nothing was written."""
        columns = _columns(planned.events, self._seal)
        given = (planned.base, self._writer, planned.number, *columns, self._channel, self._writer.hex)
        return await connection.fetchrow(_COMMIT, *given) is not None


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


async def read_news(connection: Connection, *, after: int, writer: UUID) -> News:
    rows = await connection.fetch(_NEWS, after, writer)
    head, compacted, batch = rows[0][:_MARKS]
    return News(head, compacted, batch or 0, [row[_MARKS:] for row in rows if row[_MARKS] is not None])


async def enter_section(connection: Connection) -> None:
    """Begin a transaction in which nobody else commits."""
    await connection.execute(_LOCK)
