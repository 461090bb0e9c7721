"""A schema of PostgreSQL as the source or the target of a backup or a move.

A source is a read transaction: it sees a consistent snapshot and blocks nobody. A target is one transaction, which also
creates the tables and holds the commit section. If it is interrupted, nothing is left.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Protocol, cast
from uuid import UUID

import asyncpg

from homeostat.store.backup.rows import Chunker, Contents, Row
from homeostat.store.base import StoreError
from homeostat.store.migration import migrations, refusal_of_other
from homeostat.store.postgres.database import AWAY, Connection, Database
from homeostat.store.postgres.schema import RESTORED, is_restored, prepare
from homeostat.store.postgres.statements import NEWEST
from homeostat.store.seal import Seal

_AT_ONCE = 100  # rows per fetch
_PATIENT = (
    "SET idle_in_transaction_session_timeout = 0"  # compressing or writing a chunk may take longer than the timeout
)
_COLUMNS = ("revision", "resource", "namespace", "name", "operation", "created", "previous", "value")
_ROWS = f"SELECT {', '.join(_COLUMNS)} FROM log ORDER BY revision"  # noqa: S608
_CONTENTS = f"""
    SELECT {NEWEST}, mark.compacted, sweep.swept, count(log.revision),
        count(*) FILTER (WHERE operation < 3) - count(*) FILTER (WHERE previous > 0 AND log.revision > swept)
    FROM mark CROSS JOIN sweep LEFT JOIN log ON true GROUP BY mark.compacted, sweep.swept
"""  # noqa: S608
_SERVING = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name SIMILAR TO 'homeostat (writer|listener)%'
"""
_NOBODY = UUID(int=0)


class _Filler(Connection, Protocol):
    async def copy_records_to_table(
        self, table_name: str, *, records: Sequence[Row], columns: Sequence[str]
    ) -> object: ...


class PostgresSource:
    def __init__(self, connection: Connection, database: Database, found: tuple[Contents, bool]) -> None:
        self._connection, self._database = connection, database
        self.contents, self.is_restored = found

    @classmethod
    @asynccontextmanager
    async def open(
        cls, url: str, *, schema: str = "homeostat", is_exclusive: bool = False
    ) -> AsyncIterator[PostgresSource]:
        """A snapshot of the log. `is_exclusive` refuses one that planes serve, and blocks all commits."""
        database = Database(url, schema)
        async with _session(database, "read") as connection:
            await _require_readable(connection, database)
            if is_exclusive:
                await _require_exclusive(connection, database)
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                yield cls(connection, database, (await _contents(connection), await is_restored(connection)))

    async def chunks(self) -> AsyncIterator[Sequence[Row]]:
        with _naming_errors(self._database, "read"):
            async for rows in _chunks(self._connection):
                yield rows


class PostgresTarget:
    def __init__(self, connection: Connection, database: Database) -> None:
        self._connection, self._database = cast(_Filler, connection), database

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, *, seal: Seal, schema: str = "homeostat") -> AsyncIterator[PostgresTarget]:
        """A schema that is empty or does not exist. It is filled completely at the end of the block, or not at all."""
        database = Database(url, schema)
        async with _session(database, "written") as connection, connection.transaction():
            await prepare(connection, schema, seal)
            await connection.fetchval("SELECT pg_advisory_xact_lock($1)", database.section)
            await _require_empty(connection, database)
            yield cls(connection, database)

    async def add(self, rows: Sequence[Row]) -> None:
        with _naming_errors(self._database, "written"):
            await self._connection.copy_records_to_table("log", records=rows, columns=_COLUMNS)

    async def chunks(self) -> AsyncIterator[Sequence[Row]]:
        with _naming_errors(self._database, "read"):
            async for rows in _chunks(self._connection):
                yield rows

    async def mark(self, *, revision: int, oldest: int, swept: int, is_restored: bool) -> None:
        execute = self._connection.execute
        with _naming_errors(self._database, "written"):
            await execute("UPDATE mark SET compacted = $1", oldest)
            await execute("UPDATE sweep SET swept = $1", swept)
            if is_restored:
                await execute("INSERT INTO meta VALUES ($1, now()::text)", RESTORED)
            if revision:
                # One batch for all of history, so that history is kept as if it had been written now.
                first = min(oldest + 1, revision)
                await execute("INSERT INTO batch VALUES ($1, $2, $3, 0, now())", first, revision, _NOBODY)


@asynccontextmanager
async def _session(database: Database, what: str) -> AsyncIterator[Connection]:
    with _naming_errors(database, what):
        connection = await database.connect("backup", is_patient=True)
        try:
            await connection.execute(_PATIENT)
            yield connection
        finally:
            await connection.close()


async def _chunks(connection: Connection) -> AsyncIterator[Sequence[Row]]:
    chunker = Chunker()
    async for row in connection.cursor(_ROWS, prefetch=_AT_ONCE):
        if chunk := chunker.add(row):
            yield chunk
    if rest := chunker.rest():
        yield rest


async def _contents(connection: Connection) -> Contents:
    found = await connection.fetchrow(_CONTENTS)
    assert found is not None
    revision, oldest, swept, rows, records = found
    seal = await connection.fetchval("SELECT value FROM meta WHERE name = 'seal'") or ""
    return Contents(revision=revision, oldest=oldest, swept=swept, rows=rows, records=records, seal=seal)


async def _require_readable(connection: Connection, database: Database) -> None:
    newest = migrations("postgres")[-1][0]
    if await connection.fetchval("SELECT to_regclass('migration') IS NULL"):
        raise StoreError(f'{database.address} contains no plane in its schema "{database.schema}"')
    version = await connection.fetchval("SELECT max(number) FROM migration")
    if version != newest:
        raise refusal_of_other(database.address, version, newest)


async def _require_exclusive(connection: Connection, database: Database) -> None:
    serving = await connection.fetchval(_SERVING)
    if serving or not await connection.fetchval("SELECT pg_try_advisory_lock($1)", database.section):
        raise StoreError(f"{database.address} is in use; stop the planes that serve it")


async def _require_empty(connection: Connection, database: Database) -> None:
    found = await _contents(connection)
    if found.revision or found.oldest:
        raise StoreError(
            f"{database.address} is not empty: it has {found.records} objects at revision {found.revision}; "
            f'rename its schema "{database.schema}", or choose another database'
        )


@contextmanager
def _naming_errors(database: Database, what: str) -> Iterator[None]:
    try:
        yield
    except (*AWAY, asyncpg.PostgresError, ValueError) as error:
        raise StoreError(f"{database.address} cannot be {what}: {str(error) or type(error).__name__}") from error
