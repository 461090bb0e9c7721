"""Streaming responses: watch events, logs, server-sent events.

`frame` encodes an event once, and the same bytes go to every stream: `send` is one `transport.write`, without a task or
a queue. Promises, each with a test:

- data is delivered in order or the stream ends; nothing in between is dropped;
- a reader with more unread data than the limit is disconnected at the next send, and no other reader notices;
- `on_close` callbacks run once, whatever ended the stream, and never from inside `send`, `close` or `abort`: a loop
  over streams may remove them there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from homeostat.edge.metrics.counters import Counters

LAST_CHUNK = b"0\r\n\r\n"


def frame(data: bytes) -> bytes:
    """`data` as one HTTP chunk. Empty data gives no chunk, because an empty chunk would end the stream."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def unframe(chunks: bytes) -> bytes:
    """The data of one or several chunks that `frame` made."""
    parts, at = [], 0
    while at < len(chunks):
        start = chunks.index(b"\r\n", at) + 2
        end = start + int(chunks[at : start - 2], 16)
        parts.append(chunks[start:end])
        at = end + 2
    return b"".join(parts)


class Stream(Protocol):
    """The target of a `StreamReply`: an `HttpStream` on a connection, or a reader in the same process."""

    @property
    def closed(self) -> bool: ...

    @property
    def buffered(self) -> int:
        """Bytes that the reader has not read."""
        ...

    def send(self, chunk: bytes) -> None:
        """Chunks as made by `frame`, one or several joined. Nothing happens once the stream is closed."""

    async def drain(self) -> None:
        """Wait until the reader has caught up or the stream is closed; for senders of much data."""

    def close(self) -> None:
        """End the response properly: the reader sees its end."""

    def abort(self) -> None:
        """Break the connection and discard unread data."""

    def on_close(self, callback: Callable[[], None]) -> None: ...


class CloseCallbacks:
    """Callbacks for the end of a stream: each runs once, and never from inside the call that ends the stream."""

    __slots__ = ("_callbacks", "_is_over")

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], None]] = []
        self._is_over = False

    def add(self, callback: Callable[[], None]) -> None:
        if self._is_over:
            asyncio.get_running_loop().call_soon(callback)
        else:
            self._callbacks.append(callback)

    def schedule(self) -> None:
        """The stream has ended."""
        self._is_over = True
        loop = asyncio.get_running_loop()
        for callback in self._callbacks:
            loop.call_soon(callback)
        self._callbacks.clear()


class Host(Protocol):
    """The connection that a stream runs on."""

    counters: Counters

    def stream_ended(self) -> None: ...


class HttpStream:
    """A stream on a connection. The connection makes it and passes it to `StreamReply.start`."""

    __slots__ = (
        "_callbacks",
        "_counters",
        "_host",
        "_is_chunked",
        "_limit",
        "_transport",
        "_waiters",
        "closed",
        "is_full",
    )

    def __init__(self, host: Host, transport: asyncio.Transport, limit: int, is_chunked: bool) -> None:
        self._host = host
        self._counters = host.counters
        self._transport = transport
        self._limit = limit
        self._is_chunked = is_chunked
        self._callbacks = CloseCallbacks()
        self._waiters: list[asyncio.Future[None]] = []
        self.closed = False
        self.is_full = False
        """The transport's buffer is above its high-water mark; the connection sets this."""

    def send(self, chunk: bytes) -> None:
        """Chunks as made by `frame`, one or several joined. Nothing happens once the stream is closed."""
        if self.closed:
            return
        transport = self._transport
        if self.is_full and transport.get_write_buffer_size() > self._limit:
            self._counters.cut_off += 1
            self.abort()
            return
        transport.write(chunk if self._is_chunked else unframe(chunk))
        self._counters.bytes_out += len(chunk)

    @property
    def buffered(self) -> int:
        """Bytes that wait in the transport. Under TLS the newest ones may be missing from it."""
        return 0 if self.closed else self._transport.get_write_buffer_size()

    async def drain(self) -> None:
        """Wait until the reader has caught up or the stream is closed; for senders of much data."""
        if self.is_full and not self.closed:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def close(self) -> None:
        """End the response properly: the client may use the connection again."""
        if self.closed:
            return
        if self._is_chunked:
            self._transport.write(LAST_CHUNK)
        self._end()
        self._host.stream_ended()

    def abort(self) -> None:
        """Break the connection and discard unread data."""
        if not self.closed:
            self._end()
            self._transport.abort()

    def disconnected(self) -> None:
        """The connection calls this when it is lost."""
        if not self.closed:
            self._end()

    def resume(self) -> None:
        """The connection calls this when the transport's buffer is below its low-water mark."""
        self.is_full = False
        self._wake()

    def on_close(self, callback: Callable[[], None]) -> None:
        self._callbacks.add(callback)

    def _end(self) -> None:
        self.closed = True
        self._wake()
        self._callbacks.schedule()

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()
