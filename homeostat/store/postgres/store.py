"""A `Store` on PostgreSQL, in which any number of replicas write and read one log.

Every replica holds the current state in memory and follows the log. It has three connections: one commits, one listens
and reads new rows, one reads old changes and compacts. Replicas wake up on a notification, and poll in case one is
lost. `sync` depends on neither: it queries the database, once for all waiting callers.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Sequence
from uuid import uuid4

import asyncpg

from homeostat import __version__
from homeostat.store.base import (
    Change,
    Deliver,
    Key,
    LostError,
    Page,
    Reader,
    Record,
    Scope,
    StoreError,
    Subscription,
    UnreachableError,
    UnwritableError,
)
from homeostat.store.counters import Counters
from homeostat.store.group_commit import GroupCommit
from homeostat.store.history import KEEP_S, History
from homeostat.store.postgres.barrier import Barrier
from homeostat.store.postgres.committer import Committer
from homeostat.store.postgres.compaction import Compaction
from homeostat.store.postgres.database import AWAY, Connection, Database
from homeostat.store.postgres.fence import raise_fence
from homeostat.store.postgres.follower import Follower
from homeostat.store.postgres.link import PATIENCE_S, Link
from homeostat.store.postgres.load import Loaded, load
from homeostat.store.postgres.reader import PostgresArchive
from homeostat.store.postgres.schema import forget_restore, prepare
from homeostat.store.postgres.statements import BatchWriter
from homeostat.store.replica import Replica
from homeostat.store.seal import Seal
from homeostat.store.state import State

_CHECK_COMMITS_S = 0.5
"""How often the store checks whether commits work again after a failed one."""
_BATCH_BYTES = 16 << 20
"""Bytes of values in one commit, which has to be written and read within the statement timeout."""

_log = logging.getLogger(__name__)


class PostgresStore(Replica):
    """Created by `open`. Keep `maintain` running: without it, changes of other replicas appear only after `sync`."""

    is_shared = True

    def __init__(self, database: Database, seal: Seal, *, loaded: Loaded, history: History, patience_s: float) -> None:
        self._id = uuid4()
        self._reader = Link(database, "reader", patience_s=patience_s)
        # The version is for `homeostat doctor`, which looks for replicas of different versions.
        self._writer = Link(database, f"writer {__version__}", patience_s=patience_s)
        self._listener = Link(database, "listener", patience_s=patience_s, prepare=self._listen)
        archive = PostgresArchive(self._reader, seal, self._note_compacted)
        state = State(loaded.records, revision=loaded.revision)
        super().__init__(archive, state, history, revision=loaded.revision, oldest=loaded.compacted)
        self._channel = database.schema
        batch_writer = BatchWriter(self._id, self._channel, database.section, seal)
        self._batch_writer = batch_writer
        self._follower = Follower(self, seal, batch_writer, loaded.place)
        self._committer = Committer(self._writer, batch_writer, self._follower, self)
        self._compaction = Compaction(self._reader)
        self._barrier = Barrier(self._catch_up)
        self._group = GroupCommit(self._begin, max_bytes=_BATCH_BYTES)
        self._committing: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()
        self._is_closed = False
        self._failed = ""
        self._away = ""
        self.counters = Counters()
        self.database_bytes = 0
        self.is_restored = loaded.is_restored

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        schema: str = "homeostat",
        sealed: Collection[str] = frozenset(),
        key: bytes | None = None,
        history_events: int = 10_000,
        history_bytes: int = 32 << 20,
        patience_s: float = PATIENCE_S,
    ) -> PostgresStore:
        """Open a replica on the database, and create its tables if there are none.

        Values of the resources in `sealed` are encrypted at rest with `key`, 32 bytes and the same for all replicas.
        Reads and writes wait for an unreachable database for up to `patience_s`.
        """
        seal = Seal(sealed, key)
        database = Database(url, schema)
        try:
            connection = await database.connect("opener", is_patient=True)
            try:
                await prepare(connection, schema, seal)
                loaded = await load(connection, seal)
            finally:
                await connection.close()
        except (*AWAY, asyncpg.PostgresError, ValueError) as error:
            raise StoreError(f"cannot open {database.address}: {str(error) or type(error).__name__}") from error
        history = History(loaded.revision, max_events=history_events, max_bytes=history_bytes)
        return cls(database, seal, loaded=loaded, history=history, patience_s=patience_s)

    @property
    def trouble(self) -> str:
        """Why the log cannot be followed, or why commits fail; empty if all is well."""
        return str(self._follower.lost or self._away or self._failed)

    async def sync(self) -> int:
        """`UnreachableError` while the database does not respond, `LostError` if this replica cannot follow."""
        if self._is_closed:
            raise StoreError("the store is closed")
        return await self._barrier.wait()

    async def reach(self, revision: int, *, timeout_s: float) -> None:
        if revision > self.revision:
            await self.sync()
        await super().reach(revision, timeout_s=timeout_s)

    async def page(self, scope: Scope, *, at: int, after: tuple[str, str] | None = None, limit: int = 0) -> Page:
        if at > self.revision:
            await self.sync()  # a client may have got it from another replica
        return await super().page(scope, at=at, after=after, limit=limit)

    async def subscribe(
        self, scope: Scope, *, since: int, deliver: Deliver, reader: Reader | None = None
    ) -> Subscription:
        if since > self.revision:
            await self.sync()
        return await super().subscribe(scope, since=since, deliver=deliver, reader=reader)

    async def write(self, change: Change) -> Record:
        if not _is_storable(change.key):
            raise UnwritableError(f"{change.key!r}: PostgreSQL cannot store names with a NUL or invalid Unicode")
        return await self._group.submit(change)

    async def forget_restore(self) -> None:
        try:
            await self._writer.run(forget_restore)
        except asyncpg.PostgresError as error:
            raise UnwritableError(f"cannot remove the mark of the restore: {error}") from error
        self.is_restored = False

    async def compact(self, before: int) -> None:
        # Raised before rows are deleted, so a reader that misses a row knows why.
        self._note_compacted(min(before, self.revision))
        self._note_compacted(await self._compaction.forget(self.oldest))

    async def tidy(self, *, keep_s: float = KEEP_S) -> None:
        """Compact history older than `keep_s`, by the clock of the database."""
        newest = self.revision
        kept = await self._compaction.first_kept(self.oldest, keep_s=keep_s)
        await self.compact(newest if kept is None else kept - 1)
        self.database_bytes = await self._compaction.size_bytes()

    async def maintain(self, *, keep_s: float = KEEP_S, every_s: float = 30, poll_s: float = 1.0) -> None:
        """Follow the log and, in turns with the other replicas, compact; `LostError` if following is impossible."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._follow(poll_s))
                tasks.create_task(self._tidy_by_turns(keep_s, every_s))
                tasks.create_task(self._check_commits_after_failures())
        except* LostError:
            pass
        if self._follower.is_rolled_back:
            await self._raise_fence()
        raise LostError(str(self._follower.lost))

    async def close(self) -> None:
        """Complete pending writes, then close the connections."""
        if self._is_closed:
            return
        self._is_closed = True
        await self._group.close()
        await self._barrier.close()
        for link in (self._writer, self._listener, self._reader):
            await link.close()

    async def _follow(self, poll_s: float) -> None:
        while True:
            try:
                await self.sync()
            except UnreachableError as error:
                if not self._away:
                    _log.warning("failed to follow the log; retrying", extra={"reason": str(error)})
                self._away = str(error)
            else:
                self._away = ""
            try:
                async with asyncio.timeout(poll_s):
                    await self._woken.wait()
            except TimeoutError:
                pass
            self._woken.clear()

    async def _tidy_by_turns(self, keep_s: float, every_s: float) -> None:
        while True:
            await asyncio.sleep(every_s)
            try:
                if await self._compaction.take_turn(every_s=every_s):
                    await self.tidy(keep_s=keep_s)
                else:
                    self.database_bytes = await self._compaction.size_bytes()
            except StoreError as error:
                _log.warning("store maintenance failed", extra={"reason": str(error)})

    async def _check_commits_after_failures(self) -> None:
        while True:
            await asyncio.sleep(_CHECK_COMMITS_S)
            if not self._failed:
                continue
            try:
                await self._committer.check_commits()
            except (StoreError, asyncpg.PostgresError) as error:
                self._failed = str(error)
            else:
                self._failed = ""

    async def _raise_fence(self) -> None:
        above = self.revision
        try:
            fence = await self._reader.run(lambda connection: raise_fence(connection, self._batch_writer, above=above))
            await self._compaction.forget(fence)
        except (StoreError, asyncpg.PostgresError) as error:
            _log.error(
                "failed to restart watches after a restore; they may miss changes",
                extra={"upto": above, "reason": str(error)},
            )
        else:
            _log.warning(
                "the database was restored to an older state; restarting watches",
                extra={"shown": above, "fence": fence},
            )

    async def _listen(self, connection: Connection) -> None:
        await connection.add_listener(self._channel, self._notified)

    def _notified(self, _connection: object, _process: int, _channel: str, writer: str) -> None:
        if writer != self._id.hex:
            self._woken.set()

    async def _catch_up(self) -> int:
        try:
            return await self._listener.run(self._follower.catch_up)
        except asyncpg.PostgresError as error:
            raise UnreachableError(f"cannot read new changes from the database: {error}") from error

    def _note_compacted(self, revision: int) -> None:
        self.oldest = max(self.oldest, revision)

    def _begin(self, batch: Sequence[Change]) -> None:
        self._committing = asyncio.get_running_loop().create_task(self._commit(batch), name="store-commit")

    async def _commit(self, batch: Sequence[Change]) -> None:
        started = time.perf_counter()
        try:
            planned = await self._committer.commit(batch)
        except StoreError as error:
            self.counters.failures += 1
            if not self._failed:  # logged once per outage
                _log.error("commit failed", extra={"changes": len(batch), "reason": str(error)})
            self._failed = str(error)
            self._group.fail(error)
            return
        except BaseException as error:  # passed on, so that no writer waits forever
            self._group.fail(error)
            raise
        self._failed = ""
        if not planned.events:
            self._group.settle(planned.outcomes)
            return
        self.counters.count(len(planned.events), time.perf_counter() - started)
        is_new = self.revision == planned.base
        if is_new:
            self.absorb(planned.events)
        # First, so that the next commit runs while watchers get the events of this one.
        self._group.settle(planned.outcomes)
        if is_new:
            self.announce(planned.events)


def _is_storable(key: Key) -> bool:
    """Checked before the commit, so that one change does not fail the whole batch."""
    try:
        return b"\0" not in "".join(key).encode()
    except UnicodeEncodeError:
        return False
