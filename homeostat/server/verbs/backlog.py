"""Events of a watch that wait to be converted, or to be encoded in a thread.

An event keeps its object in memory, also after the store has replaced it. So a backlog has a number of events and of
bytes at which it is full, and a watch whose backlog is full ends. Its client resumes by revision. What waits for a
client that reads slowly is limited in bytes, by `edge/limits.py`.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Final

from homeostat.store.base import Event

MOST_EVENTS: Final = 10_000
MOST_BYTES: Final = 64 << 20
"""Of their objects."""


class Backlog:
    __slots__ = ("_bytes", "_events")

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._events)

    def add(self, event: Event) -> bool:
        """False if the backlog is full."""
        if len(self._events) >= MOST_EVENTS or self._bytes >= MOST_BYTES:
            return False
        self._events.append(event)
        self._bytes += len(event.record.value)
        return True

    def first(self, most: int) -> list[Event]:
        return list(islice(self._events, most))

    def drop_first(self) -> None:
        self._bytes -= len(self._events.popleft().record.value)

    def clear(self) -> None:
        self._events.clear()
        self._bytes = 0
