"""Creates and migrates the tables of a schema, and checks the settings of the database.

One replica migrates while the others wait. A schema of a newer version of the program is refused, and so is one that
was sealed with a different key.
"""

from __future__ import annotations

import logging

from homeostat.store.base import StoreError
from homeostat.store.migration import migrations, refusal_of_newer
from homeostat.store.postgres.database import Connection
from homeostat.store.seal import Seal

OLDEST_SERVER = 130000
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('homeostat ' || $1, 0))"

RESTORED = "restored"
"""The row of `meta` that marks a restored store."""

_log = logging.getLogger(__name__)


async def prepare(connection: Connection, schema: str, seal: Seal) -> None:
    await _check_server(connection)
    async with connection.transaction():
        await connection.fetchval(_LOCK, schema)
        await _migrate(connection, schema)
        await _check_seal(connection, seal)


async def is_restored(connection: Connection) -> bool:
    return bool(await connection.fetchval("SELECT EXISTS (SELECT FROM meta WHERE name = $1)", RESTORED))


async def forget_restore(connection: Connection) -> None:
    await connection.execute("DELETE FROM meta WHERE name = $1", RESTORED)


async def _check_server(connection: Connection) -> None:
    found = await connection.fetchrow(
        "SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),"
        " current_setting('fsync')"
    )
    assert found is not None
    version, encoding, fsync = found
    if version < OLDEST_SERVER:
        raise StoreError(f"PostgreSQL {version // 10000} is too old; 13 or newer is needed")
    if encoding != "UTF8":
        raise StoreError(f"the database has the encoding {encoding}; create one with UTF8")
    if fsync != "on":
        _log.warning("the database runs with fsync = off; a crash may lose acknowledged writes")


async def _migrate(connection: Connection, schema: str) -> None:
    # Checked first, because creating a schema needs a privilege that the user may not have.
    if await connection.fetchval("SELECT to_regnamespace(quote_ident($1)) IS NULL", schema):
        await connection.execute(f'CREATE SCHEMA "{schema}"')
    await connection.execute("CREATE TABLE IF NOT EXISTS migration (number int PRIMARY KEY, at timestamptz NOT NULL)")
    version = await connection.fetchval("SELECT coalesce(max(number), 0) FROM migration")
    known = migrations("postgres")
    if version > known[-1][0]:
        raise StoreError(refusal_of_newer(f'"{schema}" of the database', version, known[-1][0]))
    for number, text in known:
        if number > version:
            await connection.execute(text)
            await connection.execute("INSERT INTO migration VALUES ($1, now())", number)


async def _check_seal(connection: Connection, seal: Seal) -> None:
    description = seal.description()
    await connection.execute("INSERT INTO meta VALUES ('seal', $1) ON CONFLICT DO NOTHING", description)
    found = await connection.fetchval("SELECT value FROM meta WHERE name = 'seal'")
    if found != description:
        raise StoreError(
            f'the database is sealed as "{found}" (key id, resources), not as "{description}"; '
            "copy the seal.key of its other replicas into the data directory"
        )
