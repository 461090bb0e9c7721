"""Checks the PostgreSQL of a plane: access, settings, schema, clock and replicas. It only reads.

PostgreSQL does not show how much of its disk is free. A full disk is seen in the plane's readiness and writes.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from homeostat import __version__
from homeostat.cli.doctor.server import judge_clock, utc_now
from homeostat.edge.process.extras import install_command
from homeostat.external.secrets.scrub import scrub_urls
from homeostat.runtime.checkup import Finding
from homeostat.store.base import StoreError
from homeostat.store.migration import migrations, refusal_of_newer
from homeostat.store.seal import Seal

if TYPE_CHECKING:
    from homeostat.store.postgres.database import Connection

_SCHEMA: Final = "homeostat"
_SPARE_SESSIONS: Final = 10
_AWAY: Final = "check that it runs and accepts connections from here, and the host and port of the URL"
_TLS: Final = "check that PostgreSQL has TLS enabled, and sslmode and sslrootcert of the URL"
_ACCESS: Final = "check the user of the URL, and PGPASSWORD or .pgpass; pg_hba.conf must allow this machine"
_REMEDIES: Final = {
    "28P01": _ACCESS,
    "28000": _ACCESS,
    "3D000": "create it: CREATE DATABASE plane OWNER plane ENCODING UTF8 TEMPLATE template0",
    "53300": "raise max_connections of PostgreSQL, or close other clients",
    "57P03": "wait until it has started, then check again",
    "42501": "let the user of the URL own the schema homeostat, or the database",
}
"""By the SQLSTATE of the error."""
_MIB: Final = 1 << 20
_FACTS: Final = """
    SELECT current_setting('server_version_num')::int, current_setting('server_version'),
        current_setting('server_encoding'), current_setting('fsync') = 'on', pg_database_size(current_database()),
        (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()),
        inet_server_addr() IS NULL OR inet_server_addr() = inet_client_addr(),
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
            - (SELECT count(*)::int FROM pg_stat_activity WHERE datname IS NOT NULL),
        to_regclass(quote_ident($1) || '.migration') IS NOT NULL, clock_timestamp()
"""
_WRITERS: Final = """
    SELECT coalesce(host(client_addr), 'this machine'), application_name FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'homeostat writer%' ORDER BY 1, 2
"""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    """As PostgreSQL counts: 150004 is 15.4."""
    version_text: str
    encoding: str
    is_synced: bool
    """Whether a commit is on disk when it is acknowledged."""
    size: int
    is_encrypted: bool
    is_local: bool
    free_sessions: int
    has_tables: bool
    clock: datetime
    clock_here: datetime
    schema: int = 0
    """The newest migration that was applied."""
    seal: str = ""
    replicas: Sequence[tuple[str, str]] = ()
    """The machine and the version of each; no version of one that does not name it."""


async def check_postgres(url: str, data: Path | None, clock: Callable[[], datetime] = utc_now) -> list[Finding]:
    try:
        import asyncpg

        from homeostat.store.postgres.database import AWAY, Database
    except ImportError:
        return [Finding("database", "FAIL", "the driver of PostgreSQL is not installed", install_command("postgres"))]
    try:
        database = Database(url, _SCHEMA)
    except StoreError as error:
        return [Finding("database", "FAIL", str(error), "correct --database or HOMEOSTAT_DATABASE")]
    try:
        connection = await database.connect("doctor")
        try:
            facts = await _read(connection, clock)
        finally:
            connection.terminate()
    except StoreError as error:
        return [Finding("database", "FAIL", str(error), "connect to PostgreSQL itself")]
    except (*AWAY, asyncpg.PostgresError, ValueError) as error:
        return [_unreachable(database.address, error)]
    return list(judge(facts, data / "seal.key" if data is not None else None))


async def _read(connection: Connection, clock: Callable[[], datetime]) -> Facts:
    row = await connection.fetchrow(_FACTS, _SCHEMA)
    assert row is not None
    here = clock()
    schema, seal = 0, ""
    if row[8]:
        schema = await connection.fetchval("SELECT coalesce(max(number), 0) FROM migration")
        seal = await connection.fetchval("SELECT coalesce(max(value), '') FROM meta WHERE name = 'seal'")
    writers = [
        (machine, name.removeprefix("homeostat writer").strip()) for machine, name in await connection.fetch(_WRITERS)
    ]
    return Facts(
        version=row[0],
        version_text=row[1],
        encoding=row[2],
        is_synced=row[3],
        size=row[4],
        is_encrypted=bool(row[5]),
        is_local=row[6],
        free_sessions=row[7],
        has_tables=row[8],
        clock=row[9],
        clock_here=here,
        schema=schema,
        seal=seal,
        replicas=writers,
    )


def _unreachable(address: str, error: Exception) -> Finding:
    text = scrub_urls(str(error)) or type(error).__name__
    remedy = _REMEDIES.get(getattr(error, "sqlstate", None) or "")
    if type(error).__name__ == "TargetServerAttributeNotMatched":
        remedy = "name the primary, or all hosts: a plane writes, and this is a standby"
    if remedy is None:
        remedy = _TLS if isinstance(error, ssl.SSLError) or "SSL" in text else _AWAY
    return Finding("database", "FAIL", f"cannot open {address}: {text}", remedy)


def judge(facts: Facts, key: Path | None) -> Iterator[Finding]:
    """`key` is the plane's `seal.key`, None where only the database is checked. Reads that file."""
    yield _settings(facts)
    yield _connection(facts)
    yield judge_clock("database clock", facts.clock, facts.clock_here)
    yield _schema(facts)
    if facts.seal and key is not None and key.is_file():
        yield _seal(facts.seal, key)
    yield _sessions(facts)


def _settings(facts: Facts) -> Finding:
    from homeostat.store.postgres.schema import OLDEST_SERVER  # needs the driver

    oldest = OLDEST_SERVER // 10000
    if facts.version < OLDEST_SERVER:
        detail = f"PostgreSQL {facts.version_text} is too old"
        return Finding("database", "FAIL", detail, f"upgrade it to {oldest} or newer")
    if facts.encoding != "UTF8":
        remedy = "create another: CREATE DATABASE plane ENCODING UTF8 TEMPLATE template0"
        return Finding("database", "FAIL", f"the database has the encoding {facts.encoding}", remedy)
    if not facts.is_synced:
        remedy = "set fsync = on in postgresql.conf: a crash of the machine may lose acknowledged writes"
        return Finding("database", "WARN", f"PostgreSQL {facts.version_text} runs with fsync = off", remedy)
    return Finding("database", "OK", f"PostgreSQL {facts.version_text}, {facts.size / _MIB:.1f} MiB")


def _connection(facts: Facts) -> Finding:
    if facts.is_encrypted:
        return Finding("database connection", "OK", "encrypted with TLS")
    if facts.is_local:
        return Finding("database connection", "OK", "not encrypted, within one machine")
    remedy = "enable TLS in PostgreSQL, and add ?sslmode=verify-full&sslrootcert=FILE to the URL"
    return Finding("database connection", "WARN", "not encrypted: the network sees objects and the password", remedy)


def _schema(facts: Facts) -> Finding:
    newest = migrations("postgres")[-1][0]
    if not facts.has_tables:
        return Finding("database schema", "SKIPPED", "no tables yet: the first start of a plane creates them")
    if facts.schema > newest:
        refusal = refusal_of_newer(f'"{_SCHEMA}" of the database', facts.schema, newest)
        detail, _, remedy = refusal.partition("; ")
        return Finding("database schema", "FAIL", detail, remedy)
    if facts.schema < newest:
        remedy = "back it up, stop replicas of the version before, then start one of this version"
        return Finding("database schema", "WARN", f"{facts.schema}; this version migrates it to {newest}", remedy)
    return Finding("database schema", "OK", f"{facts.schema}, the newest of homeostat {__version__}")


def _seal(stored: str, key: Path) -> Finding:
    try:
        own = Seal(("secrets",), key.read_bytes()).key_id.hex()
    except (OSError, StoreError) as error:
        return Finding("seal", "FAIL", f"cannot use {key}: {error}", "copy the seal.key of the other replicas here")
    if own != stored.partition(" ")[0]:
        detail = f"the database is sealed with another key than {key}"
        return Finding("seal", "FAIL", detail, "copy the seal.key of the other replicas here")
    return Finding("seal", "OK", "the database is sealed with the key of this data directory")


def _sessions(facts: Facts) -> Finding:
    versions = sorted({version or "of another version" for _, version in facts.replicas})
    shown = ", ".join(f"{machine} ({version or 'of another version'})" for machine, version in facts.replicas)
    if len(versions) > 1:
        remedy = "replace the replicas of the older version: docs/upgrading.md"
        return Finding("replicas", "WARN", f"of different versions: {shown}", remedy)
    if facts.free_sessions < _SPARE_SESSIONS:
        remedy = "raise max_connections of PostgreSQL: a replica needs three, and one more for a backup"
        return Finding("replicas", "WARN", f"PostgreSQL has {facts.free_sessions} connections left", remedy)
    if not facts.replicas:
        return Finding("replicas", "OK", "none is connected")
    return Finding("replicas", "OK", f"{len(facts.replicas)} connected: {shown}")
