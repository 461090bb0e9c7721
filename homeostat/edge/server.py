"""An HTTP server: listens, closes connections whose time is up, and stops gracefully.

One timer checks the timeouts of all connections. If there are too many connections, an idle one gives way to a new one:
first one that never sent a whole request, so that clients that only connect keep nobody out; last one whose request
takes seconds to arrive, so that clients that begin requests and never complete them keep nobody out. `stop` promises:
it accepts no new connections, closes idle ones, lets running requests finish and ends streams properly within the grace
period, and leaves no connection and no task behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl as tls
from itertools import islice

from homeostat.edge.connection.connection import Connection
from homeostat.edge.connection.idleness import Idleness
from homeostat.edge.connection.service import Service
from homeostat.edge.handler import Answer, Handler, Refuse, plain_refusal
from homeostat.edge.ids import RequestIds
from homeostat.edge.limits import Limits
from homeostat.edge.metrics.counters import Counters
from homeostat.edge.process.files import file_limit
from homeostat.edge.tls.listener import TlsListener

__all__ = ["Answer", "Handler", "Limits", "Refuse", "Server", "serve"]

BACKLOG = 1024
_EXAMINED = 64
"""Connections that are examined for one that gives way."""
_LEAST_CONNECTIONS = 16
# How long to wait for aborted connections and cancelled tasks; only a task that resists cancellation takes time.
_ABORT_WAIT_S = 5.0
_CONFIRM_WITHIN_S = 0.1
# The kernel finds peers that vanished: it probes after 30 s of silence and closes the connection 60 s later.
_KEEP_ALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}


async def serve(
    handler: Handler,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    ssl: tls.SSLContext | None = None,
    limits: Limits | None = None,
    refuse: Refuse = plain_refusal,
    ids: RequestIds | None = None,
) -> Server:
    """Listen, and serve until `stop`. Port 0 chooses a free port, which `Server.port` then has."""
    server = Server(handler, limits or Limits(), refuse, ids)
    await server.listen(host, port, ssl)
    return server


class Server:
    def __init__(self, handler: Handler, limits: Limits, refuse: Refuse, ids: RequestIds | None = None) -> None:
        self._service = Service(handler, limits, refuse, ids)
        self._open: dict[Connection, None] = {}
        """Oldest first, apart from those that `_give_way` has passed over."""
        self._most = limits.max_connections
        self._emptied = asyncio.Event()
        self._sweeper: asyncio.TimerHandle | None = None
        self._listener: asyncio.Server | TlsListener | None = None
        self.counters: Counters = self._service.counters
        self.port = 0

    @property
    def connections(self) -> int:
        return self.counters.connections

    @property
    def requests(self) -> int:
        return self.counters.requests

    async def listen(self, host: str, port: int, ssl: tls.SSLContext | None) -> None:
        limits = self._service.limits
        # A process has a second listener, for its faces, and needs files of its own.
        self._most = min(limits.max_connections, max(_LEAST_CONNECTIONS, file_limit() * 3 // 8))
        listening = _listening_socket(host, port)
        if ssl is None:
            self._listener = await self._service.loop.create_server(self._connection, sock=listening, backlog=BACKLOG)
        else:
            self._listener = TlsListener(
                self._connection,
                listening,
                ssl,
                turns=self._service.turns,
                most_waiting=self._most,
                handshake_timeout_s=limits.header_timeout_s,
            )
        self.port = self._listener.sockets[0].getsockname()[1]
        self._sweep()

    def _connection(self) -> Connection:
        return Connection(self._service, self._track)

    async def stop(self, grace_s: float = 10.0) -> None:
        if self._listener is None:
            return
        self._service.is_stopping = True
        self._listener.close()
        idle = [connection for connection in list(self._open) if connection.shutdown()]
        await self._wait_until_empty(min(_CONFIRM_WITHIN_S, grace_s))
        # A client that keeps a connection for later does not read, and so never confirms the end of TLS.
        for connection in idle:
            if connection in self._open:
                connection.abort()
        await self._wait_until_empty(grace_s)
        for connection in list(self._open):
            connection.abort()
        tasks = set(self._service.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_ABORT_WAIT_S)
        await self._wait_until_empty(_ABORT_WAIT_S)
        if self._sweeper is not None:
            self._sweeper.cancel()
        with contextlib.suppress(TimeoutError):
            # Since Python 3.12 this also waits for TLS handshakes in progress, which have a timeout of their own.
            async with asyncio.timeout(_ABORT_WAIT_S):
                await self._listener.wait_closed()
        self._listener = None

    def _track(self, connection: Connection, is_open: bool) -> bool:
        """Returns whether there is a place for a new connection."""
        if is_open:
            has_place = len(self._open) < self._most or self._give_way()
            self._open[connection] = None
            self._emptied.clear()
            return has_place
        self._open.pop(connection, None)
        if not self._open:
            self._emptied.set()
        return True

    def _give_way(self) -> bool:
        """Close the most idle of the connections that are next; False if all of them are busy."""
        now = self._service.loop.time()
        idle: dict[Idleness, Connection] = {}
        for connection in list(islice(self._open, _EXAMINED)):
            idle.setdefault(connection.idleness(now), connection)
            if Idleness.SILENT in idle:
                break
            # Examine others the next time.
            del self._open[connection]
            self._open[connection] = None
        for state in (Idleness.SILENT, Idleness.BETWEEN, Idleness.LATE):
            if state in idle:
                self._open.pop(idle[state])
                idle[state].cut_off()
                return True
        return False

    async def _wait_until_empty(self, timeout_s: float) -> None:
        if self._open:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._emptied.wait()

    def _sweep(self) -> None:
        loop = self._service.loop
        self._sweeper = loop.call_later(self._service.limits.sweep_interval_s(), self._sweep)
        now = loop.time()
        for connection in list(self._open):
            connection.sweep(now)


def _listening_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=BACKLOG, dualstack_ipv6=host == "::")
    # Accepted sockets inherit these options.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        if hasattr(socket, name):
            listening.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return listening
