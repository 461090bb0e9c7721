"""Delivers each change to the subscribers of its scope, in the event loop.

Subscribers are found by resource, by namespace and by name, so a subscriber of another scope costs nothing. A
subscriber may close itself or others during a delivery. A closed one is not called again.

Those without a `Reader` get a change at its commit. There may be thousands of readers, and each looks at each change,
so all of them together take a slice of a turn of the loop: mostly they too get all changes at the commit, otherwise the
rest in later turns, in order. Scopes take turns, so that the readers of one scope do not delay those of another. If too
much waits for the readers of a scope, they are closed; their clients resume by revision.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Final

from homeostat.edge.turn import TURN_S
from homeostat.store.base import Deliver, Event, Reader, Scope

_log = logging.getLogger(__name__)

MOST_EVENTS: Final = 10_000
MOST_BYTES: Final = 64 << 20
"""Of the objects of the changes that wait for the readers of one scope."""
_AT_ONCE: Final = 64
"""Deliveries between two readings of the clock."""

_Scope = tuple[str, str, str]


class Listener:
    """A subscription. Closing it twice is harmless."""

    __slots__ = ("_broadcast", "deliver", "is_cut_off", "is_open", "reader", "scope")

    def __init__(self, broadcast: Broadcast, scope: Scope, deliver: Deliver, reader: Reader | None) -> None:
        self._broadcast, self.scope = broadcast, scope
        self.deliver, self.reader = deliver, reader
        self.is_open = True
        self.is_cut_off = False

    @property
    def is_behind(self) -> bool:
        return self.reader is not None and self._broadcast.is_behind(self.scope)

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self._broadcast.remove(self.scope, self)


class _Listeners:
    """Those of one kind, by scope."""

    __slots__ = ("_calls", "by_scope")

    def __init__(self) -> None:
        self.by_scope: dict[_Scope, dict[Listener, None]] = {}
        self._calls: dict[_Scope, tuple[Listener, ...]] = {}

    def add(self, listener: Listener) -> None:
        self.by_scope.setdefault(listener.scope, {})[listener] = None
        self._calls.pop(listener.scope, None)

    def remove(self, listener: Listener) -> None:
        listeners = self.by_scope[listener.scope]
        del listeners[listener]
        self._calls.pop(listener.scope, None)
        if not listeners:
            del self.by_scope[listener.scope]

    def of(self, scope: _Scope) -> tuple[Listener, ...]:
        found = self._calls.get(scope)
        if found is None:
            if scope not in self.by_scope:
                return ()
            found = self._calls[scope] = tuple(self.by_scope[scope])
        return found


class _Commit:
    """The changes of a commit share their encodings until all readers have them."""

    __slots__ = ("events", "left")

    def __init__(self, events: Sequence[Event]) -> None:
        self.events, self.left = events, 0

    def forget(self) -> None:
        for event in self.events:
            # History keeps the event, but the encodings would double its size.
            event.frames = None


class _Batch:
    """The changes of one commit for the readers of one scope, and how many of them have got it."""

    __slots__ = ("commit", "done", "events", "readers")

    def __init__(self, commit: _Commit, readers: tuple[Listener, ...]) -> None:
        self.commit, self.readers = commit, readers
        self.events: list[Event] = []
        self.done = 0


class _Queue:
    """What waits for the readers of one scope."""

    __slots__ = ("batches", "bytes", "events")

    def __init__(self) -> None:
        self.batches: deque[_Batch] = deque()
        self.events = self.bytes = 0

    def add(self, batch: _Batch) -> None:
        self.batches.append(batch)
        self._count(batch, 1)

    def drop_first(self) -> None:
        self._count(self.batches.popleft(), -1)

    def _count(self, batch: _Batch, times: int) -> None:
        self.events += times * len(batch.events)
        self.bytes += times * sum(len(each.record.value) for each in batch.events)

    @property
    def is_full(self) -> bool:
        return self.events > MOST_EVENTS or self.bytes > MOST_BYTES


class Broadcast:
    __slots__ = ("_followers", "_is_scheduled", "_readers", "_waiting", "count")

    def __init__(self) -> None:
        self._followers, self._readers = _Listeners(), _Listeners()
        self._waiting: dict[_Scope, _Queue] = {}
        """The first one is next."""
        self._is_scheduled = False
        self.count = 0

    def add(self, scope: Scope, deliver: Deliver, reader: Reader | None = None) -> Listener:
        listener = Listener(self, scope, deliver, reader)
        self._listeners_of(listener).add(listener)
        self.count += 1
        return listener

    def remove(self, scope: Scope, listener: Listener) -> None:
        self._listeners_of(listener).remove(listener)
        self.count -= 1

    def is_behind(self, scope: Scope) -> bool:
        """Whether changes wait for the readers of a scope."""
        return scope in self._waiting

    def publish(self, events: Sequence[Event]) -> None:
        """Deliver the events of one commit."""
        commit = _Commit(events)
        batches: dict[_Scope, _Batch] = {}
        followed, read = self._followers.by_scope, self._readers.by_scope
        for event in events:
            resource, namespace, name = event.record.key
            scopes = ((resource, "", ""), (resource, namespace, ""), (resource, namespace, name))
            for scope in scopes if namespace else scopes[1:]:
                if scope in followed or scope in read:
                    self._note(scope, event, commit, batches)
        if not batches:
            commit.forget()
            return
        if not self._waiting and sum([len(each.readers) * len(each.events) for each in batches.values()]) <= _AT_ONCE:
            self._deliver_all(batches.values())
            commit.forget()
            return
        commit.left = len(batches)
        # Those with few readers first: they need not wait for the others.
        for scope, batch in sorted(batches.items(), key=lambda each: len(each[1].readers)):
            self._waiting.setdefault(scope, _Queue()).add(batch)
        if not self._is_scheduled:
            self._deliver_some()
        for scope in batches:
            if (queue := self._waiting.get(scope)) is not None and queue.is_full:
                self._cut_off(queue)

    def _note(self, scope: _Scope, event: Event, commit: _Commit, batches: dict[_Scope, _Batch]) -> None:
        for listener in self._followers.of(scope):
            if listener.is_open:
                self._call(listener, (event,))
        if readers := self._readers.of(scope):
            batch = batches.get(scope)
            if batch is None:
                batch = batches[scope] = _Batch(commit, readers)
            batch.events.append(event)

    def _deliver_all(self, batches: Iterable[_Batch]) -> None:
        """Few readers need neither a queue nor a clock."""
        for batch in batches:
            for listener in batch.readers:
                if listener.is_open:
                    self._call(listener, batch.events)

    def _deliver_some(self) -> None:
        """What fits into a slice of the turn; the rest in the next one."""
        self._is_scheduled = False
        ends_at, count = perf_counter() + TURN_S, 0
        while self._waiting:
            scope = next(iter(self._waiting))
            queue = self._waiting.pop(scope)
            batch = queue.batches[0]
            while batch.done < len(batch.readers) and count < _AT_ONCE:
                listener = batch.readers[batch.done]
                batch.done += 1
                count += len(batch.events)
                if listener.is_open:
                    self._call(listener, batch.events)
            if batch.done == len(batch.readers):
                queue.drop_first()
                batch.commit.left -= 1
                if not batch.commit.left:
                    batch.commit.forget()
            if queue.batches:
                self._waiting[scope] = queue
            if count >= _AT_ONCE:
                count = 0
                if self._waiting and perf_counter() >= ends_at:
                    self._is_scheduled = True
                    asyncio.get_running_loop().call_soon(self._deliver_some)
                    return

    def _call(self, listener: Listener, events: Sequence[Event]) -> None:
        reader = listener.reader
        try:
            if listener.is_cut_off and reader is not None:
                listener.close()
                reader.close()
                return
            for event in events:
                listener.deliver(event)
            if reader is not None and listener.is_open:
                reader.flush()
        except Exception:
            # An error of one subscriber must not affect others or the writer.
            _log.exception("subscriber failed; closing it", extra={"scope": listener.scope})
            listener.close()

    def _cut_off(self, queue: _Queue) -> None:
        """Its readers are closed when it is their turn, instead of getting the changes."""
        for batch in queue.batches:
            for listener in batch.readers[batch.done :]:
                listener.is_cut_off = True

    def _listeners_of(self, listener: Listener) -> _Listeners:
        return self._followers if listener.reader is None else self._readers
