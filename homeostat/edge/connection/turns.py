"""Shares the event loop fairly between connections that have requests waiting.

A connection answers one request when its data arrives, while the turn of the loop has time left. The requests that the
client pipelined behind it wait here, and so does whatever arrives after the time of the turn is over: the loop hands
out the data of all connections in one turn, however many there are. In one turn the queued connections answer one
request each, round and round, up to a number of requests and a time; then the loop serves all other connections before
the next turn. So nobody waits longer than one turn, however many requests others have pipelined or sent at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter
from typing import Protocol

MOST_REQUESTS = 64
"""Answered in one turn."""
LONGEST_S = 0.008
"""How long one turn may take; the request that exceeds it is finished. The writes of 50 busy clients fit into it: two
turns would need two commits."""


class Waiting(Protocol):
    """A connection whose next request can be answered at once."""

    def take_turn(self) -> None:
        """Answer one request, and `add` the connection again if more of them wait."""


class Turns:
    __slots__ = ("_ends_at", "_is_scheduled", "_is_timed", "_loop", "_queue")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queue: deque[Waiting] = deque()
        self._is_scheduled = False
        self._is_timed = False
        self._ends_at = 0.0

    def is_over(self) -> bool:
        """Whether what arrived in this turn of the loop has used its time, so that the rest has to queue.

        A callback shows whether the loop is still in the same turn. It is scheduled once in `LONGEST_S`, not in every
        turn, because most turns are much shorter. So a turn may take up to twice that time.
        """
        now = perf_counter()
        if now < self._ends_at:
            return False
        if self._is_timed:
            return True
        self._is_timed = True
        self._ends_at = now + LONGEST_S
        self._loop.call_soon(self._end)
        return False

    def _end(self) -> None:
        self._is_timed = False

    def add(self, connection: Waiting) -> None:
        self._queue.append(connection)
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._run)

    def _run(self) -> None:
        ends_at = perf_counter() + LONGEST_S
        queue = self._queue
        try:
            for _ in range(MOST_REQUESTS):
                queue.popleft().take_turn()
                if not queue or perf_counter() >= ends_at:
                    break
        finally:
            # The others get their turns even if one raised.
            self._is_scheduled = bool(queue)
            if queue:
                self._loop.call_soon(self._run)


_of_loops: dict[asyncio.AbstractEventLoop, Turns] = {}


def turns_of(loop: asyncio.AbstractEventLoop) -> Turns:
    """Those that all connections of clients share on the event loop, whoever opened them."""
    found = _of_loops.get(loop)
    if found is None:
        for closed in [each for each in _of_loops if each.is_closed()]:
            del _of_loops[closed]
        found = _of_loops[loop] = Turns(loop)
    return found
