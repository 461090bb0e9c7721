"""One peer: its requests are answered in the order they came, one at a time.

Promises, each with a test: a handler that answers at once costs no task; a peer that goes away takes its task with
it; a peer that does not read, or sends more than is being answered, is no longer read from; every wait for the peer
has an end, found by the server's sweep and not by a timer of its own.

The end of the peer's input is the end of the peer: a half-closed connection is closed once what is written is taken,
as Go's server does, because a client that hung up looks the same.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Iterator
from types import CoroutineType
from typing import cast

from homeostat.edge.parser import Refusal, RequestParser
from homeostat.edge.reply import JOINED, Reply, StreamReply, connection_line, encode, head_of, pieces_of
from homeostat.edge.request import Peer, Request
from homeostat.edge.service import Answer, Service
from homeostat.edge.stream import HttpStream
from homeostat.edge.timer import Patience

log = logging.getLogger(__name__)

# Read in slices, so that one packet of tiny requests does not become thousands of them before the first is answered.
SLICE = 16 * 1024
# Beyond it a transport asks to be given no more.
WRITE_HIGH_WATER = 64 * 1024

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

# States named for Patience; those of the parser are its count of messages and a digit.
_CLOSING = -2
_FULL = -3


class Connection(asyncio.Protocol):
    __slots__ = (
        "_is_busy", "_is_closing", "_is_full", "_is_last", "_is_lingering", "_is_paused", "_is_serving",
        "_least_unread", "_note", "_outgoing", "_parser", "_patience", "_request", "_service", "_stream",
        "_task", "_transport", "_unfed", "counters",
    )  # fmt: skip

    _transport: asyncio.Transport
    _parser: RequestParser
    _request: Request

    def __init__(self, service: Service, note: Callable[[Connection, bool], None]) -> None:
        self._service = service
        self._note = note
        self.counters = service.counters
        self._task: asyncio.Future[Answer] | None = None
        self._stream: HttpStream | None = None
        self._outgoing: Iterator[bytes | memoryview] | None = None
        self._unfed = b""
        self._is_busy = False
        self._is_serving = False
        self._is_full = False
        self._is_paused = False
        self._is_closing = False
        self._is_lingering = False
        self._is_last = False
        self._patience = Patience()
        self._least_unread = 0

    # What the transport tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(WRITE_HIGH_WATER)
        self._parser = RequestParser(self._service.limits, Peer.of(transport))
        self._note(self, True)
        self.counters.accepted += 1
        self.counters.connections += 1
        if self._service.is_stopping or self.counters.connections > self._service.limits.max_connections:
            self._parser.refuse(503, "too many connections; try again later")
            self._serve()

    def data_received(self, data: bytes) -> None:
        self.counters.bytes_in += len(data)
        if self._is_closing:
            return
        if self._unfed or len(data) > SLICE:
            self._feed(self._unfed + data if self._unfed else data)
        else:
            self._parser.feed(data)
            self._serve()

    def eof_received(self) -> None:
        self._give_up()

    def connection_lost(self, _error: Exception | None) -> None:
        self._give_up()
        self.counters.connections -= 1
        self._parser.release()
        self._note(self, False)

    def pause_writing(self) -> None:
        self._is_full = True
        self._least_unread = sys.maxsize
        if self._stream is not None:
            self._stream.is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        if self._stream is not None:
            self._stream.room()
        if self._outgoing is not None:
            self._push()
        self._serve()

    # Reading.

    def _feed(self, data: bytes) -> None:
        view = memoryview(data)
        at = 0
        while at < len(view) and not self._is_closing:
            self._parser.feed(view[at : at + SLICE])
            at += SLICE
            self._serve()
            if self._parser.is_backlogged:
                break
        self._unfed = bytes(view[at:])

    def _pace_reading(self) -> None:
        """Stop reading while enough waits to be answered, and go on when it is not enough any more."""
        is_backlogged = self._parser.is_backlogged
        if is_backlogged and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
        elif self._is_paused and not is_backlogged:
            self._is_paused = False
            self._transport.resume_reading()
            if self._unfed:
                unfed, self._unfed = self._unfed, b""
                self._feed(unfed)

    # Answering.

    def _serve(self) -> None:
        """Answer what has arrived, until something takes time or the peer stops reading."""
        if self._is_serving:
            return
        self._is_serving = True
        arrived = self._parser.arrived
        while arrived and not (self._is_busy or self._is_full or self._is_closing):
            self._answer(arrived.popleft())
        self._is_serving = False
        if self._is_closing:
            return
        if arrived or self._is_paused:
            self._pace_reading()
        if not self._is_busy and self._parser.awaits_continue:
            self._parser.awaits_continue = False
            self._transport.write(CONTINUE)

    def _answer(self, request: Request | Refusal) -> None:
        if type(request) is Refusal:
            self.counters.refused += 1
            self._write_last(request)
            return
        assert type(request) is Request
        self.counters.requests += 1
        self._request = request
        try:
            answer = self._service.handler(request)
        except Exception:
            answer = self._service.failure(request)
        if type(answer) is Reply:
            self._write(answer)
        elif type(answer) is StreamReply:
            self._open_stream(answer)
        else:
            self._await(cast(Awaitable[Answer], answer))

    def _await(self, awaitable: Awaitable[Answer]) -> None:
        loop = self._service.loop
        task: asyncio.Future[Answer]
        try:
            if type(awaitable) is CoroutineType:
                task = loop.create_task(awaitable)
            else:
                task = asyncio.ensure_future(awaitable, loop=loop)
        except TypeError:
            self._write(self._service.failure(self._request))
            return
        self._is_busy = True
        self._task = task
        self._service.tasks.add(task)
        task.add_done_callback(self._awaited)

    def _awaited(self, task: asyncio.Future[Answer]) -> None:
        self._service.tasks.discard(task)
        self._task = None
        self._is_busy = False
        if task.cancelled():
            if not self._is_closing:
                self._transport.abort()
            return
        answer: Answer
        try:
            answer = task.result()
        except Exception:
            answer = self._service.failure(self._request)
        if self._is_closing:
            return
        if type(answer) is StreamReply:
            self._open_stream(answer)
        else:
            self._write(cast(Reply, answer))
        self._serve()

    # Writing.

    def _write(self, reply: Reply) -> None:
        request = self._request
        is_last = self._is_last = request.is_last or self._service.is_stopping
        is_head = request.method == "HEAD"
        try:
            head, body = encode(reply, is_head=is_head, is_http10=request.is_http10, is_last=is_last)
        except Exception:
            reply = self._service.failure(request)
            head, body = encode(reply, is_head=is_head, is_http10=request.is_http10, is_last=is_last)
        if type(body) is bytes and len(body) <= JOINED:
            self._put(head + body)
            if is_last:
                self._close()
            return
        self._put(head)
        self._is_busy = True
        self._outgoing = pieces_of(body)
        self._push()

    def _push(self) -> None:
        """As much of a large body as the peer takes now; the rest follows when it has."""
        assert self._outgoing is not None
        for piece in self._outgoing:
            self._put(piece)
            if self._is_full:
                return
        self._outgoing = None
        self._release()

    def _write_last(self, refusal: Refusal) -> None:
        """Refuse, and keep reading for a while: a close with unread input resets the connection under the answer."""
        reply = self._service.refusal(refusal.status, refusal.message)
        head, body = encode(reply, is_head=False, is_http10=False, is_last=True)
        self._put(head + (body if isinstance(body, bytes) else b"".join(body)))
        self._is_closing = self._is_lingering = True
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def _open_stream(self, reply: StreamReply) -> None:
        request = self._request
        try:
            head = head_of(reply.status, reply.content_type, reply.headers)
        except Exception:
            self._write(self._service.failure(request))
            return
        is_chunked = not request.is_http10
        self._is_last = request.is_last or not is_chunked
        coding = b"Transfer-Encoding: chunked\r\n" if is_chunked else b""
        self._put(head + coding + connection_line(is_http10=request.is_http10, is_last=self._is_last) + b"\r\n")
        if request.method == "HEAD":
            self._release()
            return
        self._is_busy = True
        self._stream = stream = HttpStream(self, self._transport, self._service.limits.stream_bytes, is_chunked)
        stream.is_full = self._is_full
        try:
            reply.start(stream)
        except Exception:
            self._service.failure(request)
            stream.abort()

    def stream_ended(self) -> None:
        self._stream = None
        self._release()

    def _release(self) -> None:
        """The answer is complete; the next one may begin."""
        self._is_busy = False
        if self._is_last or self._service.is_stopping:
            self._close()
        else:
            self._serve()

    def _put(self, data: bytes | memoryview) -> None:
        self.counters.bytes_out += len(data)
        self._transport.write(data)

    # Ending.

    def shutdown(self) -> None:
        """The server stops: end at once if nothing is under way, else after the answer being made."""
        if self._stream is not None:
            self._stream.close()
        elif not self._is_busy and not self._is_closing and not self._parser.is_midway:
            self._close()

    def abort(self) -> None:
        self._transport.abort()

    def sweep(self, now: float) -> None:
        """Look whether the peer has used up its time."""
        limits, patience = self._service.limits, self._patience
        if self._is_closing:
            if patience.has_run_out(_CLOSING, now, limits.linger_s if self._is_lingering else limits.stall_timeout_s):
                self._transport.abort()
        elif self._is_full:
            self._least_unread = min(self._least_unread, self._transport.get_write_buffer_size())
            if patience.has_run_out(_FULL - self._least_unread, now, limits.stall_timeout_s):
                self.counters.cut_off += 1
                self._transport.abort()
        elif self._is_busy:
            patience.reset()
        elif not self._parser.is_midway:
            if patience.has_run_out(self._parser.count * 4, now, limits.idle_timeout_s):
                self._close()
        elif self._parser.in_body:
            self._hurry(patience.has_run_out(self._parser.count * 4 + 1, now, limits.body_timeout_s), "body")
        else:
            self._hurry(patience.has_run_out(self._parser.count * 4 + 2, now, limits.header_timeout_s), "headers")

    def _hurry(self, is_late: bool, part: str) -> None:
        if is_late:
            self._parser.refuse(408, f"timed out waiting for the request {part}")
            self._serve()

    def _close(self) -> None:
        self._is_closing = True
        self._transport.close()

    def _give_up(self) -> None:
        """Nobody is there to answer any more."""
        self._is_closing = True
        self._outgoing = None
        if self._task is not None:
            self._task.cancel()
        if self._stream is not None:
            self._stream.lost()
