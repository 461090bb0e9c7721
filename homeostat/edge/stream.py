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
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, Protocol

from homeostat.edge.metrics.counters import Counters
from homeostat.edge.turn import shared_turn

log = logging.getLogger(__name__)

PIECE = 128 * 1024
"""Nothing larger is written at once. A transport that is given megabytes copies them, and under TLS encrypts them,
before anybody knows whether the client reads; a TLS transport does not even report them as unread."""

LAST_CHUNK = b"0\r\n\r\n"
_FRAMING = 16


def split(data: bytes | memoryview, size: int = PIECE) -> Iterator[memoryview]:
    view = memoryview(data)
    return (view[at : at + size] for at in range(0, len(data), size))


def frame(data: bytes) -> bytes:
    """`data` as one HTTP chunk. Empty data gives no chunk, because an empty chunk would end the stream."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def produced_by(produce: Callable[[Stream], Coroutine[Any, Any, None]]) -> Callable[[Stream], None]:
    """The `start` of a `StreamReply` whose data a coroutine sends. The stream ends with it, and it with the stream."""

    def start(stream: Stream) -> None:
        async def run() -> None:
            try:
                await produce(stream)
            except Exception:
                log.exception("failed to produce response")
                stream.abort()
            else:
                stream.close()

        task = asyncio.get_running_loop().create_task(run())

        def stop() -> None:
            task.cancel()

        stream.on_close(stop)

    return start


async def send_pieces(stream: Stream, pieces: Iterable[bytes | memoryview]) -> None:
    """Send data as the client reads it. All who do so share the turns of the event loop."""
    turn = shared_turn()
    for piece in pieces:
        await turn.pause()
        stream.send(frame(bytes(piece)))
        await stream.drain()
        if stream.closed:
            return


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

    def unread_grew(self) -> None:
        """More was written while the client does not read."""

    def wait_for_turn(self, stream: HttpStream) -> None:
        """Call `take_turn` of the stream when it is its turn among all connections."""

    def stream_ended(self) -> None: ...


class HttpStream:
    """A stream on a connection. The connection makes it and passes it to `StreamReply.start`.

    While the transport is full, data waits in a queue of the stream's own: a TLS transport would copy and encrypt it
    and report nothing as unread, and the chunks of the queue are shared by all streams that they were sent to. Large
    data waits there too, and is written a piece a turn: a large event that goes to hundreds of watchers is encrypted
    for each of them, and nobody else would be served meanwhile.
    """

    __slots__ = (
        "_callbacks", "_host", "_is_chunked", "_is_finishing", "_is_scheduled", "_limit", "_queue", "_queued",
        "_transport", "_waiters", "closed", "is_full",
    )  # fmt: skip

    def __init__(self, host: Host, transport: asyncio.Transport, limit: int, is_chunked: bool) -> None:
        self._host = host
        self._transport = transport
        self._limit = limit
        self._is_chunked = is_chunked
        self._is_finishing = False
        self._is_scheduled = False
        self._callbacks = CloseCallbacks()
        self._waiters: list[asyncio.Future[None]] = []
        self._queue: deque[bytes | memoryview] = deque()
        self._queued = 0
        self.closed = False
        self.is_full = False
        """The transport's buffer is above its high-water mark; the connection sets this."""

    def send(self, chunk: bytes) -> None:
        """Chunks as made by `frame`, one or several joined. Nothing happens once the stream is closed."""
        if self.closed:
            return
        if self.is_full and self._queued > self._limit:
            self._host.counters.cut_off += 1
            self.abort()
            return
        self._put(chunk if self._is_chunked else unframe(chunk))

    @property
    def buffered(self) -> int:
        """Bytes that wait here and in the transport. Under TLS the newest of the transport's may be missing."""
        return 0 if self.closed else self._queued + self._transport.get_write_buffer_size()

    async def drain(self) -> None:
        """Wait until the reader has caught up or the stream is closed; for senders of much data."""
        if (self.is_full or self._queue) and not self.closed:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def close(self) -> None:
        """End the response properly: the client may use the connection again."""
        if self.closed:
            return
        if self._is_chunked:
            self._put(LAST_CHUNK)
        self._end()
        if self._queue:
            self._is_finishing = True
        else:
            self._host.stream_ended()

    def abort(self) -> None:
        """Break the connection and discard unread data."""
        if not self.closed or self._is_finishing:
            self._discard()
            self._end()
            self._transport.abort()

    def disconnected(self) -> None:
        """The connection calls this when it is lost."""
        self._discard()
        if not self.closed:
            self._end()

    def resume(self) -> None:
        """The connection calls this when the transport's buffer is below its low-water mark."""
        self.is_full = False
        self._settle()

    def take_turn(self) -> None:
        """Write the next piece of the queue."""
        self._is_scheduled = False
        if self._queue and not self.is_full:
            self._write_piece()
        if not self.is_full:
            self._settle()

    def on_close(self, callback: Callable[[], None]) -> None:
        self._callbacks.add(callback)

    def _put(self, data: bytes) -> None:
        if not (self.is_full or self._queue) and len(data) <= PIECE + _FRAMING:
            self._host.counters.bytes_out += len(data)
            self._transport.write(data)
            return
        self._queued += len(data)
        if len(data) > PIECE:
            self._queue.extend(split(data))
        else:
            self._queue.append(data)
        if self.is_full:
            self._host.unread_grew()
        else:
            self._schedule()

    def _settle(self) -> None:
        """Go on after a piece was written and the transport took it."""
        if self._queue:
            self._schedule()
        elif self._is_finishing:
            self._is_finishing = False
            self._host.stream_ended()
        else:
            self._wake()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._host.wait_for_turn(self)

    def _write_piece(self) -> None:
        queue = self._queue
        batch = [queue.popleft()]
        size = len(batch[0])
        while queue and size + len(queue[0]) <= PIECE:
            size += len(queue[0])
            batch.append(queue.popleft())
        self._queued -= size
        self._host.counters.bytes_out += size
        self._transport.write(batch[0] if len(batch) == 1 else b"".join(batch))

    def _discard(self) -> None:
        self._queue.clear()
        self._queued = 0
        self._is_finishing = False

    def _end(self) -> None:
        self.closed = True
        self._wake()
        self._callbacks.schedule()

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()
