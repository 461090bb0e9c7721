"""Events of a watch that are too much to encode on the event loop.

Protobuf takes hundreds of microseconds an event. So the first events of a commit are encoded at once, as far as that
takes some milliseconds, and the others in a thread. An event waits for those before it (`backlog.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from homeostat.edge.threads import in_thread
from homeostat.objects.errors import ApiError, InternalError
from homeostat.server.verbs.backlog import Backlog
from homeostat.server.view.protobuf_view import QUICK_BYTES
from homeostat.store.base import Event

log = logging.getLogger(__name__)

_AT_ONCE = 100
"""Events in one turn of the thread, which others wait for."""


class Frames(Protocol):
    """The stream of a watch."""

    def add(self, chunk: bytes) -> None: ...
    def flush(self) -> None: ...
    def fail(self, error: ApiError) -> None: ...
    def close(self) -> None: ...


class FrameQueue:
    def __init__(self, user: str, make: Callable[[Event], bytes], frames: Frames) -> None:
        """`make` gives the frame of an event; it is called in a thread too."""
        self._user, self._make, self._frames = user, make, frames
        self._waiting = Backlog()
        self._task: asyncio.Task[None] | None = None
        self._spent_bytes = 0

    @property
    def is_behind(self) -> bool:
        return bool(self._waiting)

    def takes(self, event: Event) -> bool:
        """Whether the frame of the event is made here; otherwise the caller makes it now."""
        self._spent_bytes += len(event.record.value)
        if not self._waiting and self._spent_bytes <= QUICK_BYTES:
            return False
        if not self._waiting.add(event):
            self._frames.close()
        elif self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._encode())
        return True

    def rest(self) -> None:
        """The events of a commit are all here."""
        self._spent_bytes = 0

    def close(self) -> None:
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    async def _encode(self) -> None:
        try:
            while self._waiting:
                some = self._waiting.first(_AT_ONCE)
                for chunk in await in_thread(partial(self._made, some), user=self._user):
                    self._frames.add(chunk)
                    self._waiting.drop_first()
                self._frames.flush()
        except Exception:
            # Without an error, the client would take the stream for one without changes.
            log.exception("failed to encode events")
            self._frames.fail(InternalError("cannot encode the object; see the log of the server"))
        finally:
            self._task = None

    def _made(self, events: Sequence[Event]) -> list[bytes]:
        return [self._make(event) for event in events]
