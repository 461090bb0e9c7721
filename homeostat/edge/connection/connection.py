"""One HTTP connection. Requests are answered one at a time, in the order in which they arrived.

Promises, each with a test: a handler that answers at once costs no task; a client that disconnects cancels its task;
the server stops reading from a client that does not read, or that sends requests faster than they are answered; every
wait for the client has a timeout, which the server's sweep checks, without a timer for each connection.

The end of the client's input ends the connection: a half-closed connection is closed once everything written has been
sent, as Go's server does, because a client that disconnected looks the same.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from types import CoroutineType
from typing import cast

from homeostat.edge.connection.idleness import Idleness
from homeostat.edge.connection.memory import LARGE_BYTES
from homeostat.edge.connection.parser import Refusal, RequestParser
from homeostat.edge.connection.service import Service
from homeostat.edge.handler import Answer
from homeostat.edge.items import whole_of
from homeostat.edge.limits import StateTimer
from homeostat.edge.reply import JOINED, Reply, StreamReply, connection_line, encode, head_of
from homeostat.edge.request import NO_REQUEST, Peer, Request
from homeostat.edge.stream import HttpStream, split

# Input is parsed in slices, so that one packet of tiny requests does not become thousands of them at once.
SLICE = 4 * 1024
BODY_SLICE = 64 * 1024
# Beyond this the transport calls pause_writing.
WRITE_HIGH_WATER = 64 * 1024

# Of a large body; a piece has 128 KiB.
_PIECES_A_TURN = 8

# A client that reads less than this does not count as reading.
_PROGRESS = 4 * 1024

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

# States for the StateTimer; those of the parser are its message count times four plus a digit.
_CLOSING = -2
_FULL = -3


class Connection(asyncio.Protocol):
    __slots__ = (
        "_is_busy", "_is_closing", "_is_finite", "_is_full", "_is_last", "_is_lingering", "_is_paused", "_is_pushing",
        "_is_queued", "_is_serving", "_least_unread", "_outgoing", "_own_bytes", "_parser", "_request", "_service",
        "_stream", "_task", "_timer", "_track", "_transport", "_unparsed", "counters",
    )  # fmt: skip

    _transport: asyncio.Transport
    _parser: RequestParser

    def __init__(self, service: Service, track: Callable[[Connection, bool], bool]) -> None:
        self._service = service
        self._track = track
        self.counters = service.counters
        self._request = NO_REQUEST
        self._task: asyncio.Future[Answer] | None = None
        self._stream: HttpStream | None = None
        self._outgoing: Iterator[bytes | memoryview] | None = None
        self._is_pushing = False
        self._unparsed: memoryview | None = None
        self._is_busy = False
        self._is_serving = False
        self._is_queued = False
        self._is_full = False
        self._is_paused = False
        self._is_closing = False
        self._is_lingering = False
        self._is_last = False
        self._is_finite = False
        self._own_bytes = 0
        self._timer = StateTimer()
        self._least_unread = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(WRITE_HIGH_WATER)
        self._parser = RequestParser(self._service.limits, Peer.of(transport), self._service.ids)
        has_place = self._track(self, True)
        self.counters.accepted += 1
        self.counters.connections += 1
        if self._service.is_stopping or not has_place:
            self._parser.refuse(503, "too many connections; try again later")
            self._serve()

    def data_received(self, data: bytes) -> None:
        self.counters.bytes_in += len(data)
        if self._is_closing:
            return
        if self._unparsed is not None:
            self._unparsed = memoryview(bytes(self._unparsed) + data)
            # The client sends more although its last data waits.
            self._pace_reading()
        elif self._service.turns.is_over():
            self._unparsed = memoryview(data)
            self._wait_for_turn()
        elif len(data) > SLICE:
            self._unparsed = memoryview(data)
        else:
            self._parser.feed(data)
            if self._parser.in_body:
                self._note_upload()
        self._serve()

    def _wait_for_turn(self) -> None:
        if not self._is_queued:
            self._is_queued = True
            self._service.turns.add(self)

    def eof_received(self) -> None:
        self._disconnect()

    def connection_lost(self, _error: Exception | None) -> None:
        self._disconnect()
        self.counters.connections -= 1
        self._service.unread.discard(self)
        self._service.bodies.discard(self)
        self._parser.release()
        self._track(self, False)

    def pause_writing(self) -> None:
        self._is_full = True
        self._least_unread = sys.maxsize
        if self._stream is not None:
            self._stream.is_full = True
        self.unread_grew()

    def resume_writing(self) -> None:
        self._is_full = False
        self._timer.reset()
        self._service.unread.discard(self)
        if self._stream is not None:
            self._stream.resume()
        if self._outgoing is not None and not self._is_pushing:
            self._push()
        self._serve()

    def _note_upload(self) -> None:
        if self._parser.body_size >= LARGE_BYTES:
            self._service.bodies.receive(self, self._parser.client, self._parser.body_size)

    def refuse_upload(self) -> None:
        self._parser.refuse(503, "too many large requests at once; try again later")
        # Not at once: another connection may be parsing.
        self._service.loop.call_soon(self._serve)

    def _parse(self, unparsed: memoryview) -> None:
        """Parse until a request is complete, or while one is being answered until enough wait behind it.

        A chunked body is parsed one slice a turn: every chunk takes time, however small it is.
        """
        parser = self._parser
        while unparsed and not (parser.is_backlogged if self._is_busy else parser.arrived):
            size = BODY_SLICE if parser.in_body and not parser.is_chunked else SLICE
            parser.feed(unparsed[:size])
            if parser.in_body:
                self._note_upload()
            unparsed = unparsed[size:]
            if parser.is_chunked and not self._is_busy:
                break
        self._unparsed = unparsed or None

    def _pace_reading(self) -> None:
        """Stop reading while requests wait for a turn, or too many for an answer; resume afterwards."""
        is_enough = self._is_queued or self._unparsed is not None or self._parser.is_backlogged
        if is_enough and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
        elif self._is_paused and not is_enough:
            self._is_paused = False
            self._transport.resume_reading()

    def _serve(self) -> None:
        """Answer the next request, unless one is being answered or the client does not read."""
        if self._is_serving or self._is_queued:
            return
        self._is_serving = True
        if self._unparsed is not None:
            self._parse(self._unparsed)
        arrived = self._parser.arrived
        if arrived and not (self._is_busy or self._is_full or self._is_closing):
            self._answer(arrived.popleft())
        self._is_serving = False
        if self._is_closing:
            return
        if arrived or self._unparsed is not None or self._is_paused:
            self._queue_next()
            self._pace_reading()
        if self._parser.awaits_continue and not (self._is_busy or arrived):
            self._parser.awaits_continue = False
            self._transport.write(CONTINUE)

    def _queue_next(self) -> None:
        """Let the next request wait for its turn, if it could be answered now."""
        if (self._parser.arrived or self._unparsed is not None) and not (self._is_busy or self._is_full):
            self._wait_for_turn()

    def take_turn(self) -> None:
        if self._is_pushing:
            self._is_pushing = False
            if self._outgoing is not None and not self._is_full:
                self._push()
            return
        self._is_queued = False
        self._serve()

    def _answer(self, request: Request | Refusal) -> None:
        if type(request) is Refusal:
            self.counters.refused += 1
            self._write_last(request)
            return
        assert type(request) is Request
        self.counters.requests += 1
        self._request = request
        if request.body and len(request.body) >= LARGE_BYTES:
            self._service.bodies.answer(self, request.client, len(request.body))
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

    def _write(self, reply: Reply) -> None:
        request, self._request = self._request, NO_REQUEST
        is_last = self._is_last = request.is_last or self._service.is_stopping
        is_head = request.method == "HEAD"
        if request.body and len(request.body) >= LARGE_BYTES:
            self._service.bodies.discard(self)
        try:
            more = request.id_line + reply.lines
            head, body = encode(reply, is_head=is_head, is_http10=request.is_http10, is_last=is_last, more=more)
        except Exception:
            reply, more = self._service.failure(request), request.id_line
            head, body = encode(reply, is_head=is_head, is_http10=request.is_http10, is_last=is_last, more=more)
        if type(body) is bytes and len(body) <= JOINED:
            self._put(head + body)
            if is_last:
                self._close()
            return
        self._put(head)
        self._is_busy = True
        if isinstance(body, bytes):
            # A list shares its items with the store; a single body is likely to exist for this client alone.
            self._own_bytes = len(body)
            self._outgoing = split(body)
        else:
            self._outgoing = body.pieces()
        if self._service.turns.is_over():
            self._is_pushing = True
            self._service.turns.add(self)
        else:
            self._push()

    def _push(self) -> None:
        """Write a large body until the transport is full, and `resume_writing` continues, or for one turn.

        A fast client would read a list of 100 MB in one turn of the loop.
        """
        assert self._outgoing is not None
        for number, piece in enumerate(self._outgoing, 1):
            self._put(piece)
            if self._is_full:
                return
            if number == _PIECES_A_TURN:
                self._is_pushing = True
                self._service.turns.add(self)
                return
        self._outgoing = None
        self._release()

    def _write_last(self, refusal: Refusal) -> None:
        """Send an error, then read on for a while: closing with unread input would reset the connection."""
        reply = self._service.refusal(refusal.status, refusal.message)
        head, body = encode(reply, is_head=False, is_http10=False, is_last=True)
        self._put(head + whole_of(body))
        self._is_closing = self._is_lingering = True
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def _open_stream(self, reply: StreamReply) -> None:
        request = self._request
        try:
            head = head_of(reply.status, reply.content_type, reply.headers) + request.id_line + reply.lines
        except Exception:
            self._write(self._service.failure(request))
            return
        self._request = NO_REQUEST
        self._service.bodies.discard(self)
        is_chunked = not request.is_http10
        self._is_last = request.is_last or not is_chunked
        coding = b"Transfer-Encoding: chunked\r\n" if is_chunked else b""
        self._put(head + coding + connection_line(is_http10=request.is_http10, is_last=self._is_last) + b"\r\n")
        if request.method == "HEAD":
            self._release()
            return
        self._is_busy = True
        self._is_finite = reply.is_finite
        self._own_bytes = reply.reserved_bytes
        self._stream = stream = HttpStream(self, self._transport, self._service.limits.stream_bytes, is_chunked)
        stream.is_full = self._is_full
        try:
            reply.start(stream)
        except Exception:
            self._service.failure(request)
            stream.abort()

    def wait_for_turn(self, stream: HttpStream) -> None:
        self._service.turns.add(stream)

    def stream_ended(self) -> None:
        self._stream = None
        self._release()

    def _release(self) -> None:
        """The response is complete; go on with the next request."""
        self._is_busy = False
        self._own_bytes = 0
        if self._is_last or self._service.is_stopping:
            self._close()
        else:
            self._serve()

    def _put(self, data: bytes | memoryview) -> None:
        self.counters.bytes_out += len(data)
        self._transport.write(data)

    def shutdown(self) -> bool:
        """The server stops: close at once if idle, else after the current response. Returns whether it was idle,
        with all sent.
        """
        if self._stream is not None and not self._is_finite:
            self._stream.close()
        elif not self._is_busy and not self._is_closing and not self._parser.is_midway:
            is_all_sent = not self._transport.get_write_buffer_size()
            self._close()
            return is_all_sent
        return False

    def abort(self) -> None:
        self._transport.abort()

    def cut_off(self) -> None:
        self.counters.cut_off += 1
        self._transport.abort()

    def idleness(self, now: float) -> Idleness:
        parser = self._parser
        if self._is_full and not self._is_closing:
            return self._late(self._unread_state, now)
        if self._is_busy or self._is_closing or self._is_queued or parser.arrived:
            return Idleness.BUSY
        if not parser.count and not parser.in_body:
            return Idleness.SILENT
        if not parser.is_midway:
            return Idleness.BETWEEN
        return self._late(self._receiving, now)

    def _late(self, state: int, now: float) -> Idleness:
        is_late = self._timer.has_expired(state, now, self._service.limits.late_after_s)
        return Idleness.LATE if is_late else Idleness.BUSY

    @property
    def _unread_state(self) -> int:
        """The number of the state, for the timer: so much is unread. It changes if the client reads."""
        return _FULL - self._least_unread // _PROGRESS

    @property
    def _receiving(self) -> int:
        """The number of the state, for the timer: the headers or the body of the next request are being received."""
        return self._parser.count * 4 + (1 if self._parser.in_body else 2)

    def unread_grew(self) -> None:
        if self._is_full:
            queued = self._stream.buffered if self._stream is not None else self._transport.get_write_buffer_size()
            self._service.unread.report(self, self._own_bytes + queued)

    def sweep(self, now: float) -> None:
        """Check the timeout of the current state."""
        limits, timer = self._service.limits, self._timer
        if self._is_closing:
            if timer.has_expired(_CLOSING, now, limits.linger_s if self._is_lingering else limits.stall_timeout_s):
                self._transport.abort()
        elif self._is_full:
            self._least_unread = min(self._least_unread, self._transport.get_write_buffer_size())
            if timer.has_expired(self._unread_state, now, limits.stall_timeout_s):
                self.cut_off()
        elif self._is_busy:
            timer.reset()
        elif not self._parser.is_midway:
            if timer.has_expired(self._parser.count * 4, now, limits.idle_timeout_s):
                self._close()
        elif self._parser.in_body:
            self._refuse_late(timer.has_expired(self._receiving, now, limits.body_timeout_s), "body")
        else:
            self._refuse_late(timer.has_expired(self._receiving, now, limits.header_timeout_s), "headers")

    def _refuse_late(self, is_late: bool, part: str) -> None:
        if is_late:
            self._parser.refuse(408, f"timed out waiting for the request {part}")
            self._serve()

    def _close(self) -> None:
        self._is_closing = True
        self._transport.close()

    def _disconnect(self) -> None:
        """The client is gone: cancel what runs for it."""
        self._is_closing = True
        self._outgoing = self._unparsed = None
        if self._task is not None:
            self._task.cancel()
        if self._stream is not None:
            self._stream.disconnected()
            self._stream = None
