"""A listener for TLS that starts only a few handshakes in one turn of the event loop.

A handshake takes half a millisecond of the server and nearly nothing of a client that does not mean to finish it, so a
thousand clients that begin at the same moment would hold up everybody for half a second. A connection waits here, as a
bare socket, until the first message of the client is complete; then it queues for its handshake. A client that sends
its message slowly waits for itself alone, until the handshake's timeout: the kernel reports its socket when enough of
the message is there (`SO_RCVLOWAT`), so that thousands of such clients take no time of the loop.

Clients may also begin at different times and all finish at the same moment, which takes a third of a millisecond each.
So only some handshakes are in progress, and further connections wait for their places. An honest client finishes
within a round trip. A handshake that takes seconds gives way to those that wait, the sooner the more there are: clients
that begin and never finish must not keep others out.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

from homeostat.edge.connection.turns import Turns
from homeostat.edge.tls.transport import TlsTransport

MOST_HANDSHAKES = 8
"""Started in one turn of the loop."""
MOST_UNFINISHED = 128
"""Handshakes in progress."""
PATIENCE_S = 2.0
"""How long a handshake may take while another connection waits for its place."""
_IMPATIENT = 64
"""With so many that wait, it is half as long; with twice as many, a third."""
_EVICT_EVERY_S = 0.05
_MOST_ACCEPTED = 64
_ACCEPT_AGAIN_S = 0.1
_PEEK_AGAIN_S = 1.0
_HANDSHAKE = 0x16
_HEADER = 5
_LONGEST_RECORD = 18 * 1024
"""More than TLS allows."""


class TlsListener:
    """Accepts connections on a socket that listens. `sockets`, `close` and `wait_closed` are as in `asyncio.Server`."""

    def __init__(
        self,
        factory: Callable[[], asyncio.Protocol],
        listening: socket.socket,
        context: ssl.SSLContext,
        *,
        turns: Turns,
        most_waiting: int,
        handshake_timeout_s: float,
    ) -> None:
        self.sockets = (listening,)
        self._factory, self._listening, self._context = factory, listening, context
        self._turns, self._most_waiting = turns, most_waiting
        self._handshake_timeout_s = handshake_timeout_s
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[socket.socket, asyncio.TimerHandle] = {}
        """Connections whose first message is not complete, oldest first, each with the timer of its deadline."""
        self._needed: dict[socket.socket, int] = {}
        """How many bytes of it the kernel waits for, if more than one."""
        self._ready: deque[socket.socket] = deque()
        self._handshakes: dict[asyncio.Task[None], float] = {}
        """In progress, with the times at which they began, oldest first."""
        self._is_scheduled = False
        self._eviction: asyncio.TimerHandle | None = None
        self._is_closed = False
        listening.setblocking(False)
        self._loop.add_reader(listening, self._accept)

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._loop.remove_reader(self._listening)
        self._listening.close()
        for connection in list(self._waiting):
            self._drop(connection)
        while self._ready:
            self._ready.popleft().close()
        if self._eviction is not None:
            self._eviction.cancel()

    async def wait_closed(self) -> None:
        """Wait for the handshakes in progress, which have a timeout of their own."""
        if self._handshakes:
            await asyncio.wait(self._handshakes)

    def _accept(self) -> None:
        for _ in range(_MOST_ACCEPTED):
            try:
                connection, _address = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                # No file descriptors are left: the loop would call again at once, and for ever.
                if self._waiting:
                    self._drop(next(iter(self._waiting)))
                self._loop.remove_reader(self._listening)
                self._loop.call_later(_ACCEPT_AGAIN_S, self._accept_again)
                return
            connection.setblocking(False)
            if len(self._waiting) + len(self._ready) >= self._most_waiting:
                self._drop_oldest()
            self._waiting[connection] = self._loop.call_later(self._handshake_timeout_s, self._drop, connection)
            self._loop.add_reader(connection, self._peek, connection)

    def _accept_again(self) -> None:
        if not self._is_closed:
            self._loop.add_reader(self._listening, self._accept)

    def _drop(self, connection: socket.socket) -> None:
        if timer := self._waiting.pop(connection, None):
            timer.cancel()
            self._needed.pop(connection, None)
            self._loop.remove_reader(connection)
            connection.close()

    def _drop_oldest(self) -> None:
        if self._waiting:
            self._drop(next(iter(self._waiting)))
        else:
            self._ready.popleft().close()

    def _peek(self, connection: socket.socket) -> None:
        if connection not in self._waiting:
            return
        try:
            seen = connection.recv(1 << 16, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._drop(connection)
            return
        if not seen:
            self._drop(connection)
            return
        needed = _needed(seen)
        if len(seen) < needed:
            self._wait_for(connection, needed)
            return
        self._loop.remove_reader(connection)
        self._waiting.pop(connection).cancel()
        if self._needed.pop(connection, None):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
        self._ready.append(connection)
        self._schedule()

    def _wait_for(self, connection: socket.socket, needed: int) -> None:
        if needed > self._needed.get(connection, 1):
            self._needed[connection] = needed
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, needed)
            return
        # The client will send no more, or the kernel has no room for more. The data stays where it is, so the socket
        # would be readable again at once.
        self._loop.remove_reader(connection)
        self._loop.call_later(_PEEK_AGAIN_S, self._watch, connection)

    def _watch(self, connection: socket.socket) -> None:
        if connection in self._waiting:
            self._loop.add_reader(connection, self._peek, connection)

    def _schedule(self) -> None:
        if not self._ready:
            return
        if len(self._handshakes) < MOST_UNFINISHED:
            if not self._is_scheduled:
                self._is_scheduled = True
                self._loop.call_soon(self._start_some)
        elif self._eviction is None:
            self._eviction = self._loop.call_later(_EVICT_EVERY_S, self._evict)

    def _start_some(self) -> None:
        self._is_scheduled = False
        places = MOST_UNFINISHED - len(self._handshakes)
        for _ in range(min(MOST_HANDSHAKES, places, len(self._ready))):
            task = self._loop.create_task(self._shake_hands(self._ready.popleft()))
            self._handshakes[task] = self._loop.time()
            task.add_done_callback(self._finished)
        self._schedule()

    def _evict(self) -> None:
        """End handshakes that have had their time, as many as connections wait."""
        self._eviction = None
        late = self._loop.time() - PATIENCE_S / (1 + len(self._ready) / _IMPATIENT)
        for task, began in list(islice(self._handshakes.items(), len(self._ready))):
            if began > late:
                break
            del self._handshakes[task]
            task.cancel()
        self._schedule()

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._handshakes.pop(task, None)
        self._schedule()

    async def _shake_hands(self, connection: socket.socket) -> None:
        transport = TlsTransport(self._factory(), self._context, turns=self._turns)
        # A client that is refused, or leaves, is not an error of the server.
        with suppress(OSError):
            await self._loop.connect_accepted_socket(lambda: transport, connection)
            async with asyncio.timeout(self._handshake_timeout_s):
                await transport.ready()


def _needed(seen: bytes) -> int:
    """How long the first record of TLS is, as far as it shows; 1 for what is not TLS and is answered with an error."""
    if seen[0] != _HANDSHAKE:
        return 1
    length = int.from_bytes(seen[3:5], "big") if len(seen) >= _HEADER else 0
    return _HEADER + length if length <= _LONGEST_RECORD else _HEADER
