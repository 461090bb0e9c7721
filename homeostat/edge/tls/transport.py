"""TLS between a TCP transport and a protocol, with buffers as large as what arrives (decision 44).

The TLS of uvloop and asyncio keeps a buffer of 256 KiB for each connection and reads each message into another one.
Here a read takes as much as a record of TLS can have. What is written is encrypted at once and waits in the TCP
transport, which therefore knows how much the peer has not read.

Records may have one byte each: 256 KB of them take 90 ms to decrypt, and 500 ms if each of them changes the key. Every
connection may send as many in one turn of the event loop. So a connection reads some records, and then waits for its
turn. OpenSSL gets one record at a time: it would read all that it has in search of data. A handshake, which anybody may
begin, has few records.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import Any, cast

from homeostat.edge.connection.turns import Turns

_RECORD = 16 * 1024
"""The most that one call decrypts."""
_HEADER = 5
"""The type, the version and the length of a record."""
_MOST_ENCRYPTED = 2 * _RECORD
"""In one call: OpenSSL keeps, until the connection ends, as much memory as it has ever needed at once."""
_RECORDS_A_TURN = 16
"""As many as one read of the event loop brings if they are full."""
MOST_HANDSHAKE_RECORDS = 256
"""Of the peer: a chain of certificates of 100 KiB, which is the most, in fragments of 512 bytes, which are the smallest
that peers agree on.
"""
# OpenSSL's words for what is not TLS: GET and POST, CONNECT, and any other text.
_NOT_TLS = frozenset({"HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "WRONG_VERSION_NUMBER"})
_EXPLANATION = b"Client sent an HTTP request to an HTTPS server.\n"
"""The words of every server written in Go, which people search for."""
_REFUSAL = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"
    b"Connection: close\r\n\r\n%b" % (len(_EXPLANATION), _EXPLANATION)
)


_GONE = asyncio.Protocol()
"""Takes the place of the protocol when the connection is lost. Otherwise both would keep each other, and the buffers of
OpenSSL, until the next garbage collection."""


def _retrieve(future: asyncio.Future[None]) -> None:
    if not future.cancelled():
        future.exception()


class TlsTransport(asyncio.Transport, asyncio.Protocol):
    """The transport of `protocol`, and the protocol of the TCP transport below it.

    With the name of a server it is a client; without one it is a server. A server that closes waits until the client
    has closed as well, because unread data would reset the connection and lose the last response; the protocol aborts
    a connection that takes too long. A client closes at once. With `turns`, reading on waits for a turn among all
    connections of a server, or among those of all clients of the event loop. So does whatever arrives when the time of
    a turn is over.
    """

    __slots__ = (
        "_at", "_decrypt", "_encrypt", "_error", "_handshake", "_has_more", "_incoming", "_is_closing", "_is_open",
        "_is_paused", "_is_scheduled", "_is_server", "_left", "_missing", "_outgoing", "_protocol", "_tcp", "_tls",
        "_turns", "_unread",
    )  # fmt: skip

    _tcp: asyncio.Transport

    def __init__(
        self,
        protocol: asyncio.Protocol,
        context: ssl.SSLContext,
        server_name: str | None = None,
        turns: Turns | None = None,
    ) -> None:
        self._protocol = protocol
        self._turns = turns
        self._is_server = server_name is None
        if not self._is_server:
            # While a server of TLS 1.2 renegotiates, nothing could be written.
            context.options |= ssl.OP_NO_RENEGOTIATION
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming, self._outgoing, server_side=self._is_server, server_hostname=server_name
        )
        self._encrypt, self._decrypt = self._tls.write, self._tls.read
        self._unread, self._at, self._missing = b"", 0, 0
        self._left = MOST_HANDSHAKE_RECORDS
        self._is_open = self._is_closing = self._is_paused = False
        self._has_more = self._is_scheduled = False
        self._error: OSError | None = None
        self._handshake: asyncio.Future[None] | None = asyncio.get_running_loop().create_future()
        # Nobody waits for it if the caller is cancelled before.
        self._handshake.add_done_callback(_retrieve)

    async def ready(self) -> None:
        """Wait once for the handshake; `OSError`, such as `ssl.SSLError`, if it fails. It aborts if cancelled."""
        assert self._handshake is not None
        try:
            await self._handshake
        except asyncio.CancelledError:
            self.abort()
            raise
        finally:
            # It has the error, which has the frames that it passes through, which have this transport.
            self._handshake = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._tcp = cast(asyncio.Transport, transport)
        self._shake_hands()

    def data_received(self, data: bytes) -> None:
        if self._is_closing:
            return
        if (
            self._is_open
            and not (self._unread or self._missing)
            and len(data) > _HEADER
            and len(data) == _HEADER + (data[3] << 8 | data[4])
        ):
            self._read_record(data)
            return
        self._unread, self._at = self._unread[self._at :] + data, 0
        if self._is_open:
            if self._turns is not None and self._turns.is_over():
                self._pace(has_more=True)
            else:
                self._read()
            return
        while not (self._is_open or self._is_closing) and self._has_unread():
            if not self._missing:
                self._left -= 1
            if self._left < 0:
                self._conclude(ConnectionAbortedError("too many records in the TLS handshake"))
                self.abort()
                return
            self._feed()
            self._shake_hands()

    def eof_received(self) -> None:
        """TCP ends before TLS does. Anybody on the way can cause that, so what was received may be incomplete."""
        if self._is_open and not self._is_closing:
            self._error = ConnectionResetError("connection closed without the end of TLS")

    def connection_lost(self, error: Exception | None) -> None:
        self._is_closing = True
        protocol, self._protocol = self._protocol, _GONE
        known, self._error = self._error, None
        if self._is_open:
            protocol.connection_lost(error or known)
        else:
            self._conclude(error or ConnectionResetError("connection closed during the TLS handshake"))

    def pause_writing(self) -> None:
        if self._is_open:
            self._protocol.pause_writing()

    def resume_writing(self) -> None:
        if self._is_open:
            self._protocol.resume_writing()

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        if self._is_closing or not data:
            return
        if len(data) <= _MOST_ENCRYPTED:
            self._encrypt(data)
            self._tcp.write(self._outgoing.read())
            return
        view, pieces = memoryview(data), []
        for at in range(0, len(data), _MOST_ENCRYPTED):
            self._encrypt(view[at : at + _MOST_ENCRYPTED])
            pieces.append(self._outgoing.read())
        # In one call of the system, if the kernel has room for them.
        self._tcp.writelines(pieces)

    def close(self) -> None:
        if not self._is_closing:
            self._end(waits=self._is_server)

    def abort(self) -> None:
        self._is_closing = True
        self._tcp.abort()

    def is_closing(self) -> bool:
        return self._is_closing

    def pause_reading(self) -> None:
        self._is_paused = True
        self._tcp.pause_reading()

    def resume_reading(self) -> None:
        self._is_paused = False
        if self._has_more:
            self._read_later()
        else:
            self._tcp.resume_reading()

    def is_reading(self) -> bool:
        return self._tcp.is_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._tcp.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        return self._tcp.get_write_buffer_size()

    def can_write_eof(self) -> bool:
        return False

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = cast(asyncio.Protocol, protocol)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "ssl_object":
            return self._tls
        return self._tls.context if name == "sslcontext" else self._tcp.get_extra_info(name, default)

    def _shake_hands(self) -> None:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
        except ssl.SSLError as error:
            self._fail(error)
        else:
            self._open()

    def _fail(self, error: ssl.SSLError) -> None:
        if self._is_server and error.reason in _NOT_TLS:
            self._is_closing = True
            self._tcp.write(_REFUSAL)
            # The client closes, or the handshake times out: closing now could discard what was just sent.
            self._half_close()
            return
        # The alert says why.
        self._flush()
        self._is_closing = True
        self._tcp.close()
        self._conclude(error)

    def _conclude(self, error: Exception | None = None) -> None:
        """The handshake is over, if it was not before."""
        if self._handshake is None or self._handshake.done():
            return
        if error is None:
            self._handshake.set_result(None)
        else:
            self._handshake.set_exception(error)

    def _open(self) -> None:
        self._is_open = True
        self._protocol.connection_made(self)
        self._flush()
        self._conclude()
        if self._has_unread() and not self._is_closing:
            if self._is_paused:
                self._has_more = True
            else:
                self._read()

    def take_turn(self) -> None:
        self._is_scheduled = False
        if not (self._is_paused or self._is_closing):
            self._read()

    def _read_later(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            if self._turns is not None:
                self._turns.add(self)
            else:
                asyncio.get_running_loop().call_soon(self.take_turn)

    def _has_unread(self) -> bool:
        return len(self._unread) - self._at >= (1 if self._missing else _HEADER)

    def _feed(self) -> bool:
        """Pass one record to OpenSSL, or what there is of it; whether there was any."""
        if not self._has_unread():
            return False
        unread, at = self._unread, self._at
        if not self._missing:
            self._missing = _HEADER + int.from_bytes(unread[at + 3 : at + _HEADER], "big")
        piece = unread[at : at + self._missing]
        self._missing -= len(piece)
        self._at += len(piece)
        if self._at == len(unread):
            self._unread, self._at = b"", 0
        self._incoming.write(piece)
        return True

    def _read_record(self, record: bytes) -> None:
        """What `_read` would do with one complete record, which most requests are: at half the cost."""
        self._incoming.write(record)
        try:
            data = self._decrypt(_RECORD)
        except ssl.SSLWantReadError:
            self._flush()
        except ssl.SSLError as error:
            self._break_off(error)
        else:
            if data:
                self._protocol.data_received(data)
                if self._outgoing.pending:
                    self._flush()
            else:
                self._deliver(data, is_over=True)

    def _read(self) -> None:
        pieces = []
        is_over = False
        try:
            for _ in range(_RECORDS_A_TURN):
                if not self._feed():
                    break
                # It raises if the record is not complete, or has no data.
                with suppress(ssl.SSLWantReadError):
                    piece = self._decrypt(_RECORD)
                    pieces.append(piece)
                    if is_over := not piece:
                        break
        except ssl.SSLError as error:
            self._break_off(error)
            return
        has_more = not is_over and self._has_unread()
        self._pace(has_more=has_more)
        self._deliver(pieces[0] if len(pieces) == 1 else b"".join(pieces), is_over=is_over)

    def _deliver(self, data: bytes, *, is_over: bool) -> None:
        if data:
            self._protocol.data_received(data)
        # The answer to what TLS itself asked.
        if self._outgoing.pending:
            self._flush()
        if is_over:
            self._protocol.eof_received()
            if not self._is_closing:
                self._end(waits=False)

    def _break_off(self, error: ssl.SSLError) -> None:
        self._error = error
        self._is_closing = True
        # The alert says why. The event loop sends it at the end of this turn.
        self._flush()
        asyncio.get_running_loop().call_soon(self._tcp.abort)

    def _pace(self, *, has_more: bool) -> None:
        """Receive nothing more before what is here has been read."""
        if has_more:
            if not self._has_more:
                self._has_more = True
                self._tcp.pause_reading()
            self._read_later()
        elif self._has_more:
            self._has_more = False
            self._tcp.resume_reading()

    def _end(self, *, waits: bool) -> None:
        self._is_closing = True
        # It announces the end, and then finds that the peer has not, or has sent something before.
        with suppress(ssl.SSLError):
            self._tls.unwrap()
        self._flush()
        if waits and not self._tcp.is_closing():
            self._half_close()
            self._tcp.resume_reading()
        else:
            self._tcp.close()

    def _half_close(self) -> None:
        try:
            self._tcp.write_eof()
        except OSError:
            # The peer has reset the connection, and asyncio has not read that yet.
            self._tcp.abort()

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._tcp.write(self._outgoing.read())
