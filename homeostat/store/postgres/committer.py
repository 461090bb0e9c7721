"""Commits the batches of this replica while other replicas commit theirs.

A batch is planned on the newest state that this replica knows and sent as one statement, which writes only if nobody
committed meanwhile. If somebody did, the batch is planned again inside the commit section, a lock under which nobody
else commits. A batch whose outcome is unknown takes the same way, and is first searched for in the log. In both cases
each change is checked against the state of the database.
"""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from homeostat.store.base import Change, StoreError, UncertainError, UnwritableError
from homeostat.store.log import events_of, plan
from homeostat.store.postgres.database import AWAY, Connection
from homeostat.store.postgres.follower import Follower
from homeostat.store.postgres.link import Link
from homeostat.store.postgres.statements import BatchWriter, Planned
from homeostat.store.replica import Replica


class Committer:
    def __init__(self, link: Link, batch_writer: BatchWriter, follower: Follower, replica: Replica) -> None:
        self._link, self._batch_writer = link, batch_writer
        self._follower, self._replica = follower, replica
        self._number = 0

    async def commit(self, batch: Sequence[Change]) -> Planned:
        """Returns the plan that was committed. Readers may see its events already.

        `UnwritableError` if nothing was stored, `UncertainError` if that is unknown.
        """
        try:
            planned = await self._link.run(lambda connection: self._attempt(connection, batch))
        except (StoreError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            reason = str(error) if isinstance(error, StoreError) else f"{type(error).__name__}: {error}"
            if self._follower.sent:
                raise UncertainError(f"the outcome of the commit is unknown: {reason}") from error
            raise UnwritableError(reason) from error
        finally:
            self._follower.sent = []
        if planned.events:
            self._follower.note_own(planned)
        return planned

    async def _attempt(self, connection: Connection, batch: Sequence[Change]) -> Planned:
        if not self._follower.sent and not self._follower.is_contended():
            planned = self._plan(batch)
            if not planned.events:
                # The outcomes are final if this replica has the newest state.
                if await self._follower.catch_up(connection) == planned.base:
                    return planned
            elif await self._send(connection, planned):
                return planned
        return await self._attempt_in_section(connection, batch)

    async def _attempt_in_section(self, connection: Connection, batch: Sequence[Change]) -> Planned:
        await self._batch_writer.enter_section(connection)
        await self._follower.catch_up(connection)
        stored = self._follower.stored()
        if stored is not None:
            # Its connection may have ended while the commit waited for a standby: visible, but maybe not replicated
            # yet.
            await self._batch_writer.check_commits(connection)
            await connection.execute("COMMIT")
            return stored
        planned = self._plan(batch)
        if not planned.events:
            await connection.execute("ROLLBACK")
            return planned
        if not await self._send(connection, planned):
            raise UnwritableError("the newest revision changed although this process holds the lock")
        await connection.execute("COMMIT")
        return planned

    def _plan(self, batch: Sequence[Change]) -> Planned:
        self._number += 1
        base = self._replica.revision
        outcomes = plan(batch, base, self._replica.get)
        return Planned(self._number, base, outcomes, events_of(outcomes))

    async def _send(self, connection: Connection, planned: Planned) -> bool:
        # From here on the outcome is unknown if the connection is lost.
        self._follower.sent.append(planned)
        try:
            is_stored = await self._batch_writer.commit(connection, planned, self._follower.place)
        except AWAY:
            raise
        except asyncpg.PostgresError:
            self._follower.sent.pop()
            raise
        if not is_stored:
            self._follower.sent.pop()
        return is_stored

    async def check_commits(self) -> None:
        """Raises `StoreError` or `PostgresError` if the database accepts no commits."""
        await self._link.run(self._batch_writer.check_commits)
