"""The connection to a database: its address, the settings of every session, and the errors of an outage.

The rest of the package uses `Connection`, the part of asyncpg that it needs.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, cast

import asyncpg

from homeostat.store.base import StoreError

Row = Sequence[Any]

AWAY = (
    OSError,  # and its TimeoutError: refused, reset, no answer in time
    asyncpg.InterfaceError,  # the connection is closed
    asyncpg.InternalClientError,  # cut in the middle of a message; no host is the primary
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,  # shut down, starting, a statement past its time
    asyncpg.TooManyConnectionsError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,  # what was the primary is a standby now
    asyncpg.LockNotAvailableError,
    asyncpg.TransactionRollbackError,
)
"""Errors after which the same statement may succeed on a new connection."""

_LONGEST_NAME = 63
_CONNECT_S = 5.0
_COMMAND_S = 7.0
_SETTINGS = {
    # A commit that waited for the lock must see the rows of the commit before it.
    "default_transaction_isolation": "read committed",
    "statement_timeout": "5s",
    # A replica that stops inside the commit section blocks the others for this long at most.
    "idle_in_transaction_session_timeout": "2s",
    # Query plans are made while tables are small and kept when they have grown.
    "enable_seqscan": "off",
    "jit": "off",  # compiling one of our small statements takes longer than running it
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
_PATIENT = {"statement_timeout": "0", "enable_seqscan": "on"}
_BEGUN = """
    SELECT current_setting('search_path'), CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
        THEN set_config('synchronous_commit', 'on', false) END
"""
_HOST = r"(?:\[[\w:.%]+\]|[^:,/?#@\[\]]*)(?::\d*)?"
_URL = re.compile(
    rf"(?P<scheme>\w+://)(?P<user>[^/?#]*@)?(?P<hosts>{_HOST}(?:,{_HOST})*)(?P<path>/[^?#@]*)?"
    r"(?:\?(?P<query>\w+=[^&#]*(?:&\w+=[^&#]*)*))?"
)


class Connection(Protocol):
    async def execute(self, query: str, *given: object) -> str: ...
    async def fetch(self, query: str, *given: object) -> list[Row]: ...
    async def fetchrow(self, query: str, *given: object) -> Row | None: ...
    async def fetchval(self, query: str, *given: object) -> Any: ...
    def cursor(self, query: str, *given: object, prefetch: int) -> AsyncIterator[Row]: ...
    def transaction(
        self, *, isolation: str | None = None, readonly: bool = False
    ) -> AbstractAsyncContextManager[Any]: ...
    async def add_listener(self, channel: str, callback: Callable[..., None]) -> None: ...
    def is_closed(self) -> bool: ...
    def terminate(self) -> None: ...
    async def close(self) -> None: ...


class Database:
    """A schema of a database. Several installations may share a database, each in a schema of its own."""

    def __init__(self, url: str, schema: str) -> None:
        if not schema.isidentifier() or len(schema) > _LONGEST_NAME:
            raise StoreError(f'"{schema}" is not a valid schema name; use letters, digits and _')
        found = _parse(url)
        self.schema = schema
        self.address = found["scheme"] + found["hosts"] + (found["path"] or "")
        before, after = url[: found.start("hosts")], url[found.end("hosts") :]
        self._urls = [before + host + after for host in found["hosts"].split(",")]

    @property
    def section(self) -> int:
        """The number of the advisory lock that serialises the commits of this schema."""
        digest = hashlib.sha256(b"homeostat section " + self.schema.encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)

    async def connect(self, purpose: str, *, is_patient: bool = False) -> Connection:
        """Open a session; a patient one, for loading and migrating, has no statement timeout.

        If the address has several hosts, connects to the primary, and tries the last known one first.
        """
        # Each host has its own timeout, so that one that drops packets does not use up the time of the others.
        *others, last = self._urls
        for url in others:
            try:
                return await self._connect(url, purpose, is_patient)
            except (*AWAY, asyncpg.PostgresError):
                self._urls.remove(url)
                self._urls.append(url)
        return await self._connect(last, purpose, is_patient)

    async def _connect(self, url: str, purpose: str, is_patient: bool) -> Connection:
        settings = {
            **_SETTINGS,
            **(_PATIENT if is_patient else {}),
            "search_path": f'"{self.schema}"',
            "application_name": f"homeostat {purpose}",
        }
        command_s = None if is_patient else _COMMAND_S
        opened = await asyncpg.connect(
            url,
            timeout=_CONNECT_S / min(2, len(self._urls)),
            command_timeout=command_s,
            server_settings=settings,
            target_session_attrs="read-write",  # overrides the address: a standby may be stale
        )
        connection = cast(Connection, opened)
        try:
            begun = await connection.fetchrow(_BEGUN)
            if begun is None or begun[0] != settings["search_path"]:
                raise StoreError(
                    f"{self.address}: a connection pooler drops the session's settings; connect without the pooler"
                )
        except BaseException:
            connection.terminate()
            raise
        return connection


def _parse(url: str) -> re.Match[str]:
    """Raises `StoreError`, without secrets, for a URL whose password cannot be recognised."""
    found = _URL.fullmatch(url)
    # An @ after the hosts and none before them: the password has an unescaped character that ends the host part.
    if found is None or (not found["user"] and "@" in (found["query"] or "")):
        raise StoreError(
            "the database URL must have the form postgresql://USER:PASSWORD@HOST:PORT/NAME?OPTION=VALUE; "
            "in user and password, encode / ? # [ ] @ and % as %2F %3F %23 %5B %5D %40 and %25"
        )
    return found
