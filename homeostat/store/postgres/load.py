"""The initial load of a replica: a snapshot of the current records."""

from __future__ import annotations

from operator import attrgetter
from typing import NamedTuple

from homeostat.store.base import Record
from homeostat.store.postgres.database import Connection
from homeostat.store.postgres.schema import is_restored
from homeostat.store.postgres.statements import BEGINNING, LAST_BATCH, Place
from homeostat.store.rows import RECORD_COLUMNS, record_of
from homeostat.store.seal import Seal

_AT_ONCE = 500  # rows per fetch
_CURRENT = f"""
    SELECT {RECORD_COLUMNS} FROM log
    WHERE log.operation < 3 AND NOT EXISTS (SELECT FROM log AS later WHERE later.previous = log.revision)
"""  # noqa: S608


class Loaded(NamedTuple):
    records: list[Record]
    """In the order of their keys."""
    revision: int
    compacted: int
    place: Place
    is_restored: bool


async def load(connection: Connection, seal: Seal) -> Loaded:
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        compacted = await connection.fetchval("SELECT compacted FROM mark")
        newest = await connection.fetchrow(LAST_BATCH)
        marked = await is_restored(connection)
        records = [record_of(row, seal) async for row in connection.cursor(_CURRENT, prefetch=_AT_ONCE)]
    # Sorted here, because the database would sort the values together with the keys.
    records.sort(key=attrgetter("key"))
    if newest is None:
        return Loaded(records, 0, compacted, BEGINNING, marked)
    first, last, writer, number = newest
    return Loaded(records, last, compacted, Place(first, writer, number), marked)
