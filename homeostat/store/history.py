"""The newest events in memory, and the reconstruction of an older state from them.

The ring is bounded by the number of events and by the bytes that only it keeps alive. It has all events after `floor`.
Older ones are read from the log on disk.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple

from homeostat.store.base import Event, Key, Record, Scope
from homeostat.store.state import State

KEEP_S: Final = 300.0
"""The age of changes that a store still has, in memory or on disk; a watch from an older revision gets 410."""

Past = Record | int | None
"""The value of a key at an older revision: the record, the revision under which the log has it, or None."""


def covers(scope: Scope, key: Key) -> bool:
    resource, namespace, name = scope
    return (
        key.resource == resource
        and (not namespace or key.namespace == namespace)
        and (not name or (key.name == name and key.namespace == namespace))
    )


class History:
    __slots__ = ("_bytes", "_events", "_max_bytes", "_max_events", "floor")

    def __init__(self, floor: int = 0, *, max_events: int = 10_000, max_bytes: int = 32 << 20) -> None:
        self.floor = floor
        self._events: deque[Event] = deque()
        self._bytes = 0
        self._max_events, self._max_bytes = max_events, max_bytes

    def add(self, event: Event) -> None:
        events = self._events
        events.append(event)
        self._bytes += _superseded_bytes(event)
        while len(events) > self._max_events or self._bytes > self._max_bytes:
            oldest = events.popleft()
            self._bytes -= _superseded_bytes(oldest)
            self.floor = oldest.record.revision

    @property
    def revision(self) -> int:
        """The revision of the newest event."""
        return self._events[-1].record.revision if self._events else self.floor

    def is_longer(self, count: int, *, after: int) -> bool:
        """Whether there are more than `count` events after a revision, of all scopes."""
        return len(self._events) > count and self._events[-count - 1].record.revision > after

    def next(self, revision: int, scope: Scope, most: int, most_bytes: int) -> tuple[list[Event], int]:
        """The scope's events among the first `most` after `revision`, which must not be below `floor`, and the revision
        up to which they are complete. If they have too many bytes, fewer, but one at least.
        """
        found: list[Event] = []
        size = 0
        start = bisect_right(self._events, revision, key=_revision)
        for event in islice(self._events, start, start + most):
            if covers(scope, event.record.key):
                size += len(event.record.value)
                if found and size > most_bytes:
                    break
                found.append(event)
            revision = event.record.revision
        return found, revision

    def after(self, revision: int, scope: Scope) -> list[Event]:
        """The scope's events after `revision`, which must not be below `floor`."""
        found = []
        for event in reversed(self._events):
            if event.record.revision <= revision:
                break
            if covers(scope, event.record.key):
                found.append(event)
        found.reverse()
        return found


def _revision(event: Event) -> int:
    return event.record.revision


def _superseded_bytes(event: Event) -> int:
    size = len(event.previous.value) if event.previous is not None else 0
    return size + len(event.record.value) if event.type == "DELETED" else size


def add_undo(undo: dict[Key, Past], events: Iterable[Event]) -> None:
    """Collect the value that each key had before the events, which are given in order."""
    for event in events:
        undo.setdefault(event.record.key, event.previous)


class Rewound(NamedTuple):
    """What an older state is made from. It no longer changes, so `first` may run in a thread."""

    window: Sequence[Record]
    """Current records that include what the older state still has."""
    undo: dict[Key, Past]
    total: int
    """The number of records of the older state."""

    def first(self, limit: int) -> tuple[Sequence[Record | int], int]:
        """The first `limit` (0: all) records of the older state, and the number of records that follow."""
        if not self.undo:
            return self.window, self.total - len(self.window)
        then: dict[Key, Past] = {record.key: record for record in self.window}
        then.update(self.undo)
        ordered = [past for _, past in sorted(then.items(), key=_first) if past is not None]
        chosen = ordered[:limit] if limit else ordered
        return chosen, self.total - len(chosen)


def rewind(state: State, scope: Scope, undo: dict[Key, Past], *, after: tuple[str, str] | None, limit: int) -> Rewound:
    """The older state of a scope after `after`, as far as its first `limit` (0: all) records need it.

    `undo` has every key of the scope that changed since, with its value at that time.
    """
    table = state.table(scope.resource)
    start, stop = state.span(scope, after)
    if after is not None:
        undo = {key: past for key, past in undo.items() if key[1:] > after}
    # Even if the undo removes a record per key, this many current records include `limit` of the older state.
    window = table[start : min(stop, start + limit + len(undo)) if limit else stop]
    existed = len(undo) - list(undo.values()).count(None)
    return Rewound(window, undo, stop - start + existed - sum(map(state.records.__contains__, undo)))


def _first(item: tuple[Key, Past]) -> Key:
    return item[0]
