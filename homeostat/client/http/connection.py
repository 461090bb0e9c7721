"""One HTTP/1.1 connection to a server. An answer is read as a whole or in pieces.

A controller sends many small requests, for which the objects, tasks and timers of a library are most of the cost. Here
a request is one write, one future, and httptools for the answer.

Promises: there is one exchange at a time; a truncated answer raises `ConnectionError` and is never a short body; a slow
consumer pauses the reading; a connection on which the server sends data out of turn is not used again; heads and
answers have size limits. Nothing is decompressed. Trailers are ignored.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import cast

import httptools

_MOST_WAITING = 1 << 20
_MOST_WHOLE = 1 << 30
_MOST_AROUND = 1 << 17
"""Limit of the bytes outside of bodies: heads, interim answers, chunk extensions, trailers."""
_CLOSED_WITHIN_S = 1.0
_CUT_OFF = "the connection broke before the response was complete"


class Head:
    """The head of an answer. Header names are in lower case; repeated headers are joined by commas."""

    __slots__ = ("headers", "status")

    def __init__(self, status: int, headers: dict[bytes, bytes]) -> None:
        self.status, self.headers = status, headers

    def get(self, name: bytes) -> str | None:
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")


class Connection(asyncio.Protocol):
    """Created by a `Dialer`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._waiter: asyncio.Future[None] | None = None
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._error: Exception | None = None
        self._is_idle = True
        self._is_stream = False
        self._is_paused = False
        self._heard_at = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._begin()

    @property
    def is_reusable(self) -> bool:
        transport = self._transport
        # The loop reports a connection that the server closed only in its next turn.
        return self._is_idle and self._error is None and transport is not None and not transport.is_closing()

    @property
    def transport(self) -> asyncio.Transport | None:
        """None after the connection was lost."""
        return self._transport

    async def ask(self, request: bytes) -> tuple[Head, bytes]:
        """The whole answer."""
        self._send(request, is_stream=False)
        while not self._is_whole:
            await self._more()
        assert self._head is not None
        return self._head, self._take()

    async def open(self, request: bytes) -> Head:
        """The head of the answer; read the body with `pieces`."""
        self._send(request, is_stream=True)
        while self._head is None:
            await self._more()
        return self._head

    async def rest(self, most: int) -> bytes:
        """The whole body; `ConnectionError` if it is longer than the limit."""
        found = bytearray()
        async for piece in self.pieces():
            found += piece
            if len(found) > most:
                raise _oversized(most)
        return bytes(found)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body in pieces; buffered data is one piece."""
        while True:
            if self._size:
                yield self._take()
            elif self._is_whole:
                return
            else:
                await self._more()

    async def close(self) -> None:
        """Returns when the socket is closed."""
        is_open = self._transport is not None
        self.abort()
        if is_open:
            await asyncio.wait([self._lost], timeout=_CLOSED_WITHIN_S)

    def abort(self, error: Exception | None = None) -> None:
        """Closes at once, without a TLS shutdown that a silent server would have to answer."""
        if self._error is None:
            self._error = error or ConnectionAbortedError("the connection was closed")
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()
        self._wake()

    @contextmanager
    def given_up_after(self, silence_s: float) -> Iterator[None]:
        """In the block, waiting for a server that sends nothing for this long raises `TimeoutError`."""
        self._heard_at = self._loop.time()
        self._check_silence(silence_s)
        try:
            yield
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def _check_silence(self, silence_s: float) -> None:
        # While reading is paused, no data can arrive.
        left_s = silence_s if self._is_paused else self._heard_at + silence_s - self._loop.time()
        if left_s > 0:
            # Not reset for each piece, because a timer costs more than an event.
            self._timer = self._loop.call_later(left_s, self._check_silence, silence_s)
        else:
            self.abort(TimeoutError())

    def _begin(self) -> None:
        self._head: Head | None = None
        self._headers: dict[bytes, bytes] = {}
        self._waiting: list[bytes] = []
        self._size = self._around = 0
        self._is_whole = False

    def _send(self, request: bytes, *, is_stream: bool) -> None:
        if self._transport is None:
            raise self._error or ConnectionResetError(_CUT_OFF)
        self._begin()
        self._is_idle, self._is_stream = False, is_stream
        self._transport.write(request)

    async def _more(self) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _take(self) -> bytes:
        waiting, self._waiting, self._size = self._waiting, [], 0
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return waiting[0] if len(waiting) == 1 else b"".join(waiting)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # Callbacks of the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._is_idle:
            self.abort()
            return
        self._heard_at = self._loop.time()
        self._around += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self.abort(ConnectionError(f"what came is not HTTP: {error}"))
        if self._around > _MOST_AROUND:
            self.abort(_oversized(_MOST_AROUND))

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._error is None and error is None and self._head is not None and _ends_with_connection(self._head):
            self._is_whole = True
        if self._error is None:
            self._error = error or ConnectionResetError(_CUT_OFF)
        self._wake()
        if not self._lost.done():
            self._lost.set_result(None)
        # Breaks the reference cycle between httptools and this object.
        del self._parser

    # Callbacks of httptools.

    def on_message_begin(self) -> None:
        if self._is_whole:
            raise ConnectionError("an answer that nobody asked for")

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head is not None:
            return
        name, headers = name.lower(), self._headers
        headers[name] = b"%b, %b" % (headers[name], value) if name in headers else value

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            if status < 100:
                raise ConnectionError(f"{status} is not the status of an answer")
            self._headers = {}
            return
        self._around = 0
        self._head = Head(status, self._headers)
        if self._is_stream:
            self._wake()

    def on_body(self, piece: bytes) -> None:
        self._waiting.append(piece)
        self._size += len(piece)
        self._around = 0
        if self._is_stream:
            self._wake()
            if self._size > _MOST_WAITING and not self._is_paused and self._transport is not None:
                self._is_paused = True
                self._transport.pause_reading()
        elif self._size > _MOST_WHOLE:
            self.abort(_oversized(_MOST_WHOLE))

    def on_message_complete(self) -> None:
        if self._head is None:
            return
        self._is_whole = True
        self._is_idle = self._parser.should_keep_alive()
        self._wake()


def _ends_with_connection(head: Head) -> bool:
    """A body without a length ends when the server closes, so truncation can only be detected from its content."""
    return not head.headers.keys() & {b"content-length", b"transfer-encoding"}


def _oversized(most: int) -> ConnectionError:
    return ConnectionError(f"more than {most} bytes came, which no answer needs")
