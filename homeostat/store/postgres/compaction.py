"""Compaction of history in the database: few rows at a time, by one replica at a time.

The mark is raised before rows are deleted, so a reader that misses a row knows why. Deleting takes no lock that a
commit waits for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg

from homeostat.store.base import UnwritableError
from homeostat.store.postgres.database import Connection
from homeostat.store.postgres.link import Link
from homeostat.store.postgres.statements import NEWEST

T = TypeVar("T")

_SWEEP_ROWS = 500
_UPTO = f"""
    SELECT revision FROM log WHERE revision > $1 AND revision <= $2 ORDER BY revision OFFSET {_SWEEP_ROWS - 1} LIMIT 1
"""  # noqa: S608
_SIZE = "SELECT pg_total_relation_size('log') + pg_total_relation_size('batch')"


class Compaction:
    def __init__(self, link: Link) -> None:
        self._link = link

    async def forget(self, before: int) -> int:
        """Raise the mark to `before`, delete obsolete rows, and return the mark, which never decreases."""
        mark: int = await self._do(lambda connection: _raise(connection, before))
        while await self._do(_sweep):
            pass
        return mark

    async def first_kept(self, after: int, *, keep_s: float) -> int | None:
        """The first revision after `after` that is not older than `keep_s`, by the database's clock."""
        found: int | None = await self._do(
            lambda connection: connection.fetchval(
                "SELECT greatest(first, $1 + 1) FROM batch WHERE last > $1 AND at <= now()"
                " AND at > now() - make_interval(secs => $2) ORDER BY first LIMIT 1",
                after,
                keep_s,
            )
        )
        return found

    async def take_turn(self, *, every_s: float) -> bool:
        """Whether this replica compacts now: true for one replica per `every_s`."""
        return bool(await self._do(lambda connection: _take_turn(connection, every_s)))

    async def size_bytes(self) -> int:
        return int(await self._do(lambda connection: connection.fetchval(_SIZE)))

    async def _do(self, job: Callable[[Connection], Awaitable[T]]) -> T:
        try:
            return await self._link.run(job)
        except asyncpg.PostgresError as error:
            raise UnwritableError(f"database maintenance failed: {error}") from error


async def _raise(connection: Connection, before: int) -> int:
    # Never above the newest revision, or all commits would be refused: the database may have been restored.
    return int(
        await connection.fetchval(
            f"UPDATE mark SET compacted = greatest(compacted, least($1, {NEWEST})) RETURNING compacted",  # noqa: S608
            before,
        )
    )


async def _sweep(connection: Connection) -> bool:
    """Delete the rows that a range of revisions replaced, and its deletions; returns whether more is left."""
    async with connection.transaction():
        above = await connection.fetchval("SELECT swept FROM sweep FOR UPDATE")
        compacted = await connection.fetchval("SELECT compacted FROM mark")
        if above >= compacted:
            return False
        # Counted in rows, because there may be large gaps between revisions.
        upto = await connection.fetchval(_UPTO, above, compacted) or compacted
        await connection.execute(
            "DELETE FROM log WHERE revision IN"
            " (SELECT previous FROM log WHERE revision > $1 AND revision <= $2 AND previous > 0)",
            above,
            upto,
        )
        await connection.execute(
            "DELETE FROM log WHERE revision > $1 AND revision <= $2 AND operation = 3", above, upto
        )
        # The last batch holds the newest revision. The one that ends at the mark shows a replica that has seen no more
        # that the history is the same.
        await connection.execute("DELETE FROM batch WHERE last < $1 AND first < (SELECT max(first) FROM batch)", upto)
        await connection.execute("UPDATE sweep SET swept = $1", upto)
    return bool(upto < compacted)


async def _take_turn(connection: Connection, every_s: float) -> bool:
    return bool(
        await connection.fetchval(
            "UPDATE sweep SET tidied = now() WHERE tidied <= now() - make_interval(secs => $1) RETURNING true",
            every_s,
        )
    )
