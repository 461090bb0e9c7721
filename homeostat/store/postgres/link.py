"""A connection that is opened when needed, and again after it was lost.

A job is repeated on a new connection until the database has been unreachable for `patience_s`, so that a restart of the
database is a pause and not an error. After that each job is tried once, so that callers get the error without delay.
Jobs must be repeatable. They run one at a time.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import asyncpg

from homeostat.objects.time.backoff import Backoff
from homeostat.store.base import StoreError, UnreachableError
from homeostat.store.postgres.database import AWAY, Connection, Database

T = TypeVar("T")
Prepare = Callable[[Connection], Awaitable[None]]

PATIENCE_S: Final = 5.0
"""How long a read or a write waits for an unreachable database; then the request fails with 503."""
_BACKOFF: Final = Backoff(first_s=0.02, cap_s=0.5, spread=0.5)
_CLOSE_S = 2.0


async def _nothing(_: Connection) -> None:
    pass


class Link:
    """`prepare` runs on each new connection before it is used."""

    def __init__(self, database: Database, purpose: str, *, patience_s: float, prepare: Prepare = _nothing) -> None:
        self._database, self._purpose = database, purpose
        self._patience_s = patience_s
        self._prepare = prepare
        self._connection: Connection | None = None
        self._away_since: float | None = None
        self._turn = asyncio.Lock()
        self._is_open = True

    async def run(self, job: Callable[[Connection], Awaitable[T]]) -> T:
        """`UnreachableError` after `patience_s`; errors that are not an outage are raised unchanged."""
        failures = 0
        async with self._turn:
            while True:
                try:
                    result = await job(await self._connect())
                except AWAY as error:
                    self.drop()
                    self._note_loss(error)
                except BaseException:
                    # This also ends the statement or transaction that was running.
                    self.drop()
                    raise
                else:
                    self._away_since = None
                    return result
                failures += 1
                await asyncio.sleep(_BACKOFF.delay_s(failures, random.random()))  # noqa: S311

    def drop(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        self._is_open = False
        async with self._turn:
            connection, self._connection = self._connection, None
            if connection is not None:
                try:
                    async with asyncio.timeout(_CLOSE_S):
                        await connection.close()
                except AWAY:
                    connection.terminate()

    async def _connect(self) -> Connection:
        if not self._is_open:
            raise StoreError("the store is closed")
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._database.connect(self._purpose)
            await self._prepare(self._connection)
        return self._connection

    def _note_loss(self, error: BaseException) -> None:
        if isinstance(error, asyncpg.DataError):
            raise error  # our own mistake and not an outage; a retry would fail again
        now = asyncio.get_running_loop().time()
        if self._away_since is None:
            self._away_since = now
        if now - self._away_since >= self._patience_s:
            reason = f"{self._database.address} does not respond: {str(error) or type(error).__name__}"
            raise UnreachableError(reason) from error
