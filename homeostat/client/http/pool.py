"""A bounded pool of connections that are kept open between requests. If all are busy, requests wait.

Promises: waiting requests are served in order; the wait for a connection and for an answer is at most `answer_s`, then
`TimeoutError`; a connection whose exchange was interrupted, or that was opened with a former certificate, is not used
again; after `close` nothing is kept open. All answers have the same timeout, so one timer serves them all.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque

from homeostat.client.http.connection import Connection, Head
from homeostat.client.http.dialer import Dialer

_KEPT_S = 15.0
"""Servers close idle connections. One that was idle for less is hardly ever closed during a request."""


class Pool:
    def __init__(self, dialer: Dialer, *, connections: int, answer_s: float) -> None:
        self._dialer, self._answer_s = dialer, answer_s
        self._loop = asyncio.get_running_loop()
        self._turns = asyncio.Semaphore(connections)
        self._idle: deque[tuple[Connection, ssl.SSLContext | None, float]] = deque()
        self._deadlines: dict[Connection, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def ask(self, request: bytes, context: ssl.SSLContext | None) -> tuple[Head, bytes]:
        if self._turns.locked():
            async with asyncio.timeout(self._answer_s):
                await self._turns.acquire()
        else:
            await self._turns.acquire()
        try:
            connection = self._kept(context) or await self._dialer.dial(context)
            if self._is_closed:
                connection.abort()
            self._expect(connection)
            try:
                return await connection.ask(request)
            finally:
                del self._deadlines[connection]
                if connection.is_reusable and not self._is_closed:
                    self._idle.append((connection, context, self._loop.time()))
                else:
                    connection.abort()
        finally:
            self._turns.release()

    async def close(self) -> None:
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        connections = [each for each, _, _ in self._idle] + list(self._deadlines)
        self._idle.clear()
        await asyncio.gather(*(each.close() for each in connections))

    def _kept(self, context: ssl.SSLContext | None) -> Connection | None:
        """The connection that was used last, so that superfluous ones become old and are closed."""
        idle, oldest = self._idle, self._loop.time() - _KEPT_S
        while idle and idle[0][2] < oldest:
            idle.popleft()[0].abort()
        while idle:
            connection, made_with, _ = idle.pop()
            if connection.is_reusable and made_with is context:
                return connection
            connection.abort()
        return None

    def _expect(self, connection: Connection) -> None:
        deadline = self._deadlines[connection] = self._loop.time() + self._answer_s
        if self._timer is None:
            self._timer = self._loop.call_at(deadline, self._end_overdue)

    def _end_overdue(self) -> None:
        """Ends overdue exchanges, the oldest first."""
        self._timer = None
        now = self._loop.time()
        for connection, deadline in self._deadlines.items():
            if deadline > now:
                self._timer = self._loop.call_at(deadline, self._end_overdue)
                return
            connection.abort(TimeoutError())
