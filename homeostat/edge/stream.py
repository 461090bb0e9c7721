"""An answer that goes on: watch events, logs, server-sent events.

An event is framed once by `frame` and the same bytes go to every stream: `send` is one `transport.write`, with no
task and no queue of ours between. Promises, each with a test:

- what is sent is delivered in order or the stream ends; nothing is dropped in between;
- a reader that leaves more than the limit untaken is cut off at the next send, and no other reader notices;
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
    """`data` as one HTTP chunk; nothing for nothing, since an empty chunk would end the stream."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def unframe(chunks: bytes) -> bytes:
    """What `frame` was given, also of several chunks in a row."""
    parts, at = [], 0
    while at < len(chunks):
        start = chunks.index(b"\r\n", at) + 2
        end = start + int(chunks[at : start - 2], 16)
        parts.append(chunks[start:end])
        at = end + 2
    return b"".join(parts)


class Stream(Protocol):
    """What a `StreamReply` writes to: `HttpStream` on a connection, or a reader in the same process."""

    @property
    def closed(self) -> bool: ...

    @property
    def buffered(self) -> int:
        """Bytes the reader has not taken."""
        ...

    def send(self, chunk: bytes) -> None:
        """Chunks as made by `frame`, one or several joined. Nothing happens once the stream is closed."""

    async def drain(self) -> None:
        """Return when there is room again or the stream is closed; for a sender of more than a reader can hold."""

    def close(self) -> None:
        """End well: the reader sees the end of the answer."""

    def abort(self) -> None:
        """Cut off: what the reader has not taken is thrown away."""

    def on_close(self, callback: Callable[[], None]) -> None: ...


class CloseCallbacks:
    """What is to be called when a stream has ended: each once, and never from inside the call that ends it."""

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
    """What a stream needs of the connection it runs on."""

    counters: Counters

    def stream_ended(self) -> None: ...


class HttpStream:
    """A stream on a connection. Not made by handlers: a `StreamReply` is given one."""

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
        """The peer takes less than it is sent; kept by the connection."""

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
        """Bytes the peer has not taken; under TLS those of the last writes may be missing from it."""
        return 0 if self.closed else self._transport.get_write_buffer_size()

    async def drain(self) -> None:
        """Return when there is room again or the stream is closed; for a sender of more than a reader can hold."""
        if self.is_full and not self.closed:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def close(self) -> None:
        """End well: the peer sees the end of the answer and may use the connection again."""
        if self.closed:
            return
        if self._is_chunked:
            self._transport.write(LAST_CHUNK)
        self._end()
        self._host.stream_ended()

    def abort(self) -> None:
        """Cut off: the peer sees a broken connection, and what it has not taken is thrown away."""
        if not self.closed:
            self._end()
            self._transport.abort()

    def lost(self) -> None:
        """The connection is gone; called by it."""
        if not self.closed:
            self._end()

    def room(self) -> None:
        """The peer has caught up; called by the connection."""
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
