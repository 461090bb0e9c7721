"""Events of a watch that wait to be converted, or to be encoded in a thread, and the task that passes them on.

An event keeps its object in memory, also after the store has replaced it. So a backlog has a number of events and of
bytes at which it is full, and a watch whose backlog is full ends. Its client resumes by revision. What waits for a
client that reads slowly is limited in bytes, by `edge/limits.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice
from typing import Final, Generic, Protocol, TypeVar

from homeostat.edge.turn import shared_turn
from homeostat.objects.errors import ApiError, InternalError
from homeostat.server.conversion.review import ConversionError
from homeostat.store.base import Event

log = logging.getLogger(__name__)
T = TypeVar("T")

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


class Target(Protocol):
    """The stream of a watch."""

    @property
    def resource(self) -> str: ...
    def flush(self) -> None: ...
    def fail(self, error: ApiError) -> None: ...
    def close(self) -> None: ...


class Drain(Generic[T]):
    """One task that passes the events of a backlog on, in their order; it ends when none is left.

    `prepare` gets some events at a time, at most `at_once`, and `pass_on` each of its results. `verb` is what happens
    to the events, for messages.
    """

    def __init__(
        self,
        target: Target,
        prepare: Callable[[list[Event]], Awaitable[Iterable[T]]],
        pass_on: Callable[[T], None],
        *,
        at_once: int,
        verb: str,
    ) -> None:
        self._target, self._prepare, self._pass_on = target, prepare, pass_on
        self._at_once, self._verb = at_once, verb
        self._waiting = Backlog()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_behind(self) -> bool:
        return bool(self._waiting)

    def add(self, event: Event) -> None:
        """Closes the target if the backlog is full."""
        if not self._waiting.add(event):
            self._target.close()
        elif self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def close(self) -> None:
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        turn = shared_turn()
        try:
            while self._waiting:
                prepared = await self._prepare(self._waiting.first(self._at_once))
                # A crowd of watches is ready at the same moment.
                await turn.pause()
                for each in prepared:
                    self._pass_on(each)
                    self._waiting.drop_first()
                self._target.flush()
        except ConversionError as error:
            self._target.fail(error)
        except Exception:
            # Without an error, the client would take the stream for one without changes.
            log.exception("failed to send events", extra={"step": self._verb, "resource": self._target.resource})
            self._target.fail(InternalError(f"cannot {self._verb} the object; see the log of the server"))
        finally:
            self._task = None
