"""How a replica moves: the log's rows that others wrote, and its own batches, each shown once and in order.

A batch of this replica may be seen in the log before its commit is answered, or without the answer ever coming. The
database keeps who made each batch; by that one that was sent is known to be stored, and then its own events are
shown, not copies of them. By that, too, a history is known that is not the one shown before: a standby that lacked
the newest commits took over, or an older state was restored. This replica cannot follow it.
"""

from __future__ import annotations

import asyncio

from homeostat.store.base import Event, Key, LostError, Record
from homeostat.store.log import canonical
from homeostat.store.postgres.database import Connection, Row
from homeostat.store.postgres.statements import News, Pen, Place, Planned
from homeostat.store.replica import Replica
from homeostat.store.rows import TYPES
from homeostat.store.seal import Seal

_CONTENDED_S = 0.05


class Follower:
    def __init__(self, replica: Replica, seal: Seal, pen: Pen, place: Place) -> None:
        self._replica = replica
        self.place = place
        """The newest batch that was heard of: all that is shown is of its history."""
        self._seal = seal
        self._pen = pen
        self.sent: list[Planned] = []
        """Tries of the batch under way that were asked for and not answered; one of them at most comes to be stored."""
        self._stored_batch = 0
        self._heard_at = 0.0
        self.lost: LostError | None = None
        self.is_set_back = False
        """Lost, because the database has another history than was shown here."""

    def stored(self) -> Planned | None:
        """That of the tries which the database has shown to have."""
        return next((planned for planned in self.sent if planned.number == self._stored_batch), None)

    def is_contended(self) -> bool:
        """Whether others write too, so that a batch planned now would likely be overtaken."""
        return asyncio.get_running_loop().time() - self._heard_at < _CONTENDED_S

    async def catch_up(self, connection: Connection) -> int:
        """Show everything that was committed before this call; the newest revision then."""
        while True:
            if self.lost is not None:
                raise LostError(str(self.lost)) from self.lost
            after = self._replica.revision
            news = await self._pen.read_news(connection, after=after, at=(place := self.place))
            self._take(news, after, place)
            if self._replica.revision >= news.newest:
                return news.newest

    def note_own(self, planned: Planned) -> None:
        """A batch of this replica's that was acknowledged, and may be the newest."""
        place = self._pen.place_of(planned)
        if place.first > self.place.first:
            self.place = place

    def _take(self, news: News, after: int, place: Place) -> None:
        replica = self._replica
        self._check_history(news, after, place)
        if news.place.first > self.place.first:
            self.place = news.place
        self._stored_batch = max(self._stored_batch, news.batch)
        sent = self.stored()
        if sent is not None and sent.base == replica.revision:
            self._show(sent.events)
        rows = [row for row in news.rows if row[0] > replica.revision]
        if rows:
            self._heard_at = asyncio.get_running_loop().time()
            self._show(self._events(rows))
        elif news.newest > replica.revision and not news.rows:
            raise self._missed(news)
        replica.oldest = max(replica.oldest, news.compacted)

    def _check_history(self, news: News, after: int, place: Place) -> None:
        # The row of a batch goes when history is compacted beyond it.
        is_there = place.first <= news.compacted if news.has_place is None else news.has_place
        if news.newest < after or not is_there:
            self.is_set_back = True
            raise self._lose(
                f"the database is at revision {news.newest} of another history than the one shown up to {after}; "
                "an older state was restored"
            )

    def _show(self, events: list[Event]) -> None:
        self._replica.absorb(events)
        self._replica.announce(events)

    def _events(self, rows: list[Row]) -> list[Event]:
        """What the rows did to the replica's state."""
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

    def _missed(self, news: News) -> LostError:
        return self._lose(
            f"history before revision {news.compacted} was compacted, but this replica is at {self._replica.revision}"
        )

    def _lose(self, reason: str) -> LostError:
        self.lost = LostError(f"{reason}; restart this replica")
        return self.lost
