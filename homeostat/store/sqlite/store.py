"""A `Store` on one SQLite file, with group commit.

Changes are planned in the event loop, committed as one statement in the writer's thread, and visible to readers after
the commit. A failed commit leaves no trace: readers have seen nothing, and its revisions are assigned again.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TypeVar

from homeostat.store.base import Change, Record, StoreError, UnwritableError
from homeostat.store.counters import Counters
from homeostat.store.group_commit import GroupCommit
from homeostat.store.history import KEEP_S, History
from homeostat.store.log import events_of, plan
from homeostat.store.replica import Replica
from homeostat.store.seal import Seal
from homeostat.store.sqlite.reader import Reader, SqliteArchive
from homeostat.store.sqlite.writer import Loaded, Writer
from homeostat.store.state import State
from homeostat.store.thread import ConnectionThread

T = TypeVar("T")
Clock = Callable[[], float]

_NEWS_S = 10.0
"""How long the store reports a failed commit if no other commit follows, and how long it logs no other failed one."""
_BATCH_BYTES = 2 << 20
"""Bytes of values in one commit, whose readers all run in one turn of the event loop."""
_SWEEP_ROWS = 500
_VACUUM_PAGES = 256
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

_log = logging.getLogger(__name__)


class SqliteStore(Replica):
    """Created by `open`. Keep `maintain` running beside it."""

    def __init__(
        self,
        writer: ConnectionThread[Writer],
        reader: ConnectionThread[Reader],
        *,
        loaded: Loaded,
        history: History,
        clock: Clock,
    ) -> None:
        archive = SqliteArchive(reader)
        state = State(loaded.records, revision=loaded.revision)
        super().__init__(archive, state, history, revision=loaded.revision, oldest=loaded.compacted)
        self._writer, self._reader = writer, reader
        self._dated = archive
        self._clock = clock
        self._group = GroupCommit(self._begin, max_bytes=_BATCH_BYTES)
        self._swept = loaded.swept
        self._sweeping = asyncio.Lock()
        self._is_closed = False
        self.counters = Counters()
        self._failed: tuple[float, str] | None = None
        self._logged_at = -_NEWS_S
        self.database_bytes = loaded.size_bytes
        self.is_restored = loaded.is_restored

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        sealed: Collection[str] = frozenset(),
        key: bytes | None = None,
        clock: Clock = time.time,
        history_events: int = 10_000,
        history_bytes: int = 32 << 20,
    ) -> SqliteStore:
        """Open or create the database; an error if another process has it open.

        Values of the resources in `sealed` are encrypted at rest with `key`, 32 bytes. The newest `history_events` and
        `history_bytes` of replaced values stay in memory for watches and pages.
        """
        seal = Seal(sealed, key)
        writer: ConnectionThread[Writer] = ConnectionThread("store-writer")
        reader: ConnectionThread[Reader] = ConnectionThread("store-reader")
        try:
            await writer.connect(lambda: Writer(path, seal))
            await reader.connect(lambda: Reader(path, seal))
            loaded = await writer.run(Writer.load)
        except BaseException as error:
            await reader.close(Reader.close)
            await writer.close(Writer.close)
            if isinstance(error, sqlite3.Error | OSError):
                raise _unopenable(path, error) from error
            raise
        history = History(loaded.revision, max_events=history_events, max_bytes=history_bytes)
        return cls(writer, reader, loaded=loaded, history=history, clock=clock)

    @property
    def trouble(self) -> str:
        """Why the last commit failed, if that was recently; otherwise empty."""
        if self._failed is None or self._clock() - self._failed[0] > _NEWS_S:
            return ""
        return self._failed[1]

    def _note_failure(self, reason: str, changes: int) -> None:
        """On a full disk hundreds of commits fail in a second, and the log may be on the same disk."""
        self._failed = (now := self._clock(), reason)
        if now - self._logged_at >= _NEWS_S:
            self._logged_at = now
            _log.error(
                "commit failed", extra={"changes": changes, "reason": reason, "failures": self.counters.failures}
            )

    async def sync(self) -> int:
        """Returns at once: nobody else writes to the file."""
        return self.revision

    async def write(self, change: Change) -> Record:
        return await self._group.submit(change)

    async def forget_restore(self) -> None:
        await self._do(Writer.forget_restore)
        self.is_restored = False

    async def compact(self, before: int) -> None:
        # Raised before rows are deleted, so a reader that misses a row knows why.
        self.oldest = max(self.oldest, min(before, self.revision))
        async with self._sweeping:
            while self._swept < self.oldest:
                compacted, above = self.oldest, self._swept
                upto = min(above + _SWEEP_ROWS, compacted)
                await self._do(lambda writer, *given: writer.sweep(*given), compacted, above, upto)
                self._swept = upto

    async def tidy(self, *, keep_s: float = KEEP_S) -> None:
        """Compact history older than `keep_s`, and free disk space while nobody writes."""
        now, newest = self._clock(), self.revision
        kept = await self._dated.first_between(self.oldest, earliest=now - keep_s, latest=now)
        await self.compact(newest if kept is None else kept - 1)
        while not self._group.is_busy and await self._do(Writer.vacuum, _VACUUM_PAGES):
            pass
        if not self._group.is_busy:
            await self._do(Writer.empty_log)
        self.database_bytes = await self._do(Writer.size_bytes)

    async def maintain(self, *, keep_s: float = KEEP_S, every_s: float = 30) -> None:
        """Run `tidy` regularly, until cancelled."""
        while True:
            await asyncio.sleep(every_s)
            try:
                await self.tidy(keep_s=keep_s)
            except StoreError as error:
                _log.warning("store maintenance failed", extra={"reason": str(error)})

    async def close(self) -> None:
        """Complete pending writes, then close the file."""
        if self._is_closed:
            return
        self._is_closed = True
        await self._group.close()
        await self._reader.close(Reader.close)
        await self._writer.close(Writer.close)

    def _begin(self, batch: Sequence[Change]) -> None:
        outcomes = plan(batch, self.revision, self.get)
        events = events_of(outcomes)
        if not events:
            self._group.settle(outcomes)
            return
        at, started = self._clock(), time.perf_counter()

        def done(is_check_due: bool | None, error: BaseException | None) -> None:
            if error is not None:
                self.counters.failures += 1
                self._note_failure(str(error), len(events))
                self._group.fail(error)
                return
            self._failed = None
            self.counters.count(len(events), time.perf_counter() - started)
            self.absorb(events)
            # First, so that the next commit runs while watchers get the events of this one.
            self._group.settle(outcomes)
            self.announce(events)
            if is_check_due:
                self._writer.post(Writer.check, _note_checkpoint)

        self._writer.post(lambda writer: writer.commit(events, at), done)

    async def _do(self, job: Callable[..., T], *given: object) -> T:
        try:
            return await self._writer.run(lambda writer: job(writer, *given))
        except sqlite3.Error as error:
            raise UnwritableError(f"database maintenance failed: {error}") from error


def _note_checkpoint(_: None, error: BaseException | None) -> None:
    if error is not None:
        _log.warning("checkpoint failed", extra={"reason": str(error)})


def _unopenable(path: Path, error: sqlite3.Error | OSError) -> StoreError:
    if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
        return StoreError(f'"{path}" is damaged or not a database: {error}; restore a backup')
    return StoreError(f'cannot open "{path}": {error}')
