"""Follows the log: applies the rows of other replicas and the own batches, each once and in order.

A batch of this replica may appear in the log before its commit is answered, or if the answer is lost. The database
records the writer of each batch. So the replica recognises its own batch and applies its own events instead of copies.
It also recognises a different history: a standby that lacked the newest commits was promoted, or the database was
restored. The replica cannot follow such a history.
"""

from __future__ import annotations

import asyncio

from homeostat.store.base import Event, Key, LostError, Record
from homeostat.store.log import canonical
from homeostat.store.postgres.database import Connection, Row
from homeostat.store.postgres.statements import BEGINNING, BatchWriter, LogTail, Place, Planned
from homeostat.store.replica import Replica
from homeostat.store.rows import TYPES
from homeostat.store.seal import Seal

_CONTENDED_S = 0.05


class Follower:
    def __init__(self, replica: Replica, seal: Seal, batch_writer: BatchWriter, place: Place) -> None:
        self._replica = replica
        self.place = place
        """The newest known batch. The state of the replica belongs to its history."""
        self._seal = seal
        self._batch_writer = batch_writer
        self.sent: list[Planned] = []
        """Attempts to commit the current batch that have no answer yet. At most one of them is stored."""
        self._stored_batch = 0
        self._heard_at = 0.0
        self.lost: LostError | None = None
        self.is_rolled_back = False
        """The replica is lost because the database has a different history."""

    def stored(self) -> Planned | None:
        """The attempt that the database is known to have stored."""
        return next((planned for planned in self.sent if planned.number == self._stored_batch), None)

    def is_contended(self) -> bool:
        """Whether other replicas write too, so that an optimistic commit would probably fail."""
        return asyncio.get_running_loop().time() - self._heard_at < _CONTENDED_S

    async def catch_up(self, connection: Connection) -> int:
        """Apply everything that was committed before this call; returns the newest revision."""
        while True:
            if self.lost is not None:
                raise LostError(str(self.lost)) from self.lost
            after = self._replica.revision
            tail = await self._batch_writer.read_tail(connection, after=after, at=(place := self.place))
            self._take(tail, after, place)
            if self._replica.revision >= tail.newest:
                return tail.newest

    def note_own(self, planned: Planned) -> None:
        """Note an acknowledged batch of this replica, which may be the newest."""
        place = self._batch_writer.place_of(planned)
        if place.first > self.place.first:
            self.place = place

    def _take(self, tail: LogTail, after: int, place: Place) -> None:
        replica = self._replica
        self._check_history(tail, after, place)
        if tail.place.first > self.place.first:
            self.place = tail.place
        self._stored_batch = max(self._stored_batch, tail.batch)
        sent = self.stored()
        if sent is not None and sent.base == replica.revision:
            self._show(sent.events)
        rows = [row for row in tail.rows if row[0] > replica.revision]
        if rows:
            self._heard_at = asyncio.get_running_loop().time()
            self._show(self._events(rows))
        elif tail.newest > replica.revision and not tail.rows:
            raise self._missed(tail)
        replica.oldest = max(replica.oldest, tail.compacted)

    def _check_history(self, tail: LogTail, after: int, place: Place) -> None:
        is_there = _was_compacted(place, tail, after) if tail.has_place is None else tail.has_place
        if tail.newest < after or not is_there:
            self.is_rolled_back = True
            raise self._lose(
                f"the database is at revision {tail.newest} of another history than the one shown up to {after}; "
                "an older state was restored"
            )

    def _show(self, events: list[Event]) -> None:
        self._replica.absorb(events)
        self._replica.announce(events)

    def _events(self, rows: list[Row]) -> list[Event]:
        """The events of the rows, relative to the state of the replica."""
        events: list[Event] = []
        overlay: dict[Key, Record | None] = {}
        expected = self._replica.revision
        for revision, resource, namespace, name, operation, created, previous, value in rows:
            expected += 1
            key = Key(resource, namespace, name)
            before = overlay[key] if key in overlay else self._replica.get(key)
            if revision != expected or (before.revision if before is not None else 0) != previous:
                raise self._lose(f"revision {expected} was compacted before this replica read it")
            key = before.key if before is not None else canonical(*key)
            record = Record(key, self._seal.open(key, revision, value), revision, created)
            events.append(Event(TYPES[operation - 1], record, before))
            overlay[key] = None if operation == len(TYPES) else record
        return events

    def _missed(self, tail: LogTail) -> LostError:
        return self._lose(
            f"history before revision {tail.compacted} was compacted, but this replica is at {self._replica.revision}"
        )

    def _lose(self, reason: str) -> LostError:
        self.lost = LostError(f"{reason}; restart this replica")
        return self.lost


def _was_compacted(place: Place, tail: LogTail, after: int) -> bool:
    """Whether compaction explains that the batch of the place is gone. It keeps the batch that ends at the mark, so it
    deletes nothing that a replica at the mark has seen: there, another replica has set the mark as a fence.
    """
    return place == BEGINNING or (place.first <= tail.compacted and after < tail.compacted)
