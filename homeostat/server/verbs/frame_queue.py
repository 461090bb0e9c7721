"""Events of a watch that are too much to encode on the event loop.

Protobuf takes hundreds of microseconds an event, and so do the columns of a Table of large objects. So the first events
of a commit are encoded at once, as far as that takes some milliseconds, and the others in a thread. An event waits for
those before it (`backlog.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from homeostat.edge.threads import in_thread
from homeostat.server.verbs.backlog import Drain, Target
from homeostat.store.base import Event

_AT_ONCE = 100
"""Events in one turn of the thread, which others wait for."""


class Frames(Target, Protocol):
    def add(self, chunk: bytes) -> None: ...


class FrameQueue:
    def __init__(
        self, user: str, make: Callable[[Sequence[Event]], list[bytes]], frames: Frames, *, quick_bytes: float
    ) -> None:
        """`make` gives the frames of events that follow each other; it is called in a thread."""
        self._user, self._make, self._quick_bytes = user, make, quick_bytes
        self._drain = Drain(frames, self._prepare, frames.add, at_once=_AT_ONCE, verb="encode")
        self._spent_bytes = 0

    @property
    def is_behind(self) -> bool:
        return self._drain.is_behind

    def takes(self, event: Event) -> bool:
        """Whether the frame of the event is made here; otherwise the caller makes it now."""
        self._spent_bytes += len(event.record.value)
        if not self._drain.is_behind and self._spent_bytes <= self._quick_bytes:
            return False
        self._drain.add(event)
        return True

    def rest(self) -> None:
        """The events of a commit are all here."""
        self._spent_bytes = 0

    def close(self) -> None:
        self._drain.close()

    async def _prepare(self, events: list[Event]) -> list[bytes]:
        return await in_thread(partial(self._make, events), user=self._user)
