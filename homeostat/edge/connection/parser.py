"""Parses HTTP/1.1 requests strictly, without a socket.

httptools (llhttp) parses the grammar and refuses most of what request smuggling uses: bare CR or LF, folded lines,
control characters, a second or malformed Content-Length, Content-Length together with Transfer-Encoding. This module
checks the rest: sizes and counts, versions, Host, transfer codings other than chunked, targets and Expect. It ignores
upgrades as if the client had not offered them. After the first error it reads nothing more.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Hashable
from typing import Any, NoReturn

import httptools
import msgspec

from homeostat.edge.ids import RequestIds
from homeostat.edge.limits import Limits
from homeostat.edge.request import Headers, Peer, Request, client_of

# Enough framing for a body in chunks of one byte; more framing carries no data.
_FRAMING_PER_BYTE = 7
# A body in thousands of tiny chunks must not take many times its size, so smaller pieces are joined as they arrive.
_SMALL_PIECE = 1024
_KEPT_NAMES = 1024
_LONGEST_NAME = 64
"""Bytes of a header's name that is kept."""
_SPECIAL = frozenset({"connection", "content-length", "expect", "proxy-connection", "transfer-encoding", "upgrade"})
_HOST = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=%:\[\]-]*")
_ABSOLUTE = re.compile(r"https?://([^/?#]*)([^#]*)", re.IGNORECASE)

_names: dict[bytes, str] = {}


class Refusal(msgspec.Struct, frozen=True):
    """The error that ends a connection."""

    status: int
    message: str


class _RefusedError(Exception):
    """Leaves an httptools callback; the parser keeps the refusal itself."""


class RequestParser:
    """Parses one connection's input. `feed` appends to `arrived`, in order, and never raises because of the input."""

    def __init__(self, limits: Limits, peer: Peer, ids: RequestIds | None = None) -> None:
        self.arrived: deque[Request | Refusal] = deque()
        self.count = 0
        """Complete messages so far."""
        self.in_body = False
        self.is_chunked = False
        self.awaits_continue = False
        """The client sends its body only after a 100 Continue."""
        self._limits = limits
        self._peer = peer
        self._ids = ids
        self._scratch: dict[str, Any] = {}
        self._machine = httptools.HttpRequestParser(self)
        self._refusal: Refusal | None = None
        self._is_done = False
        self._host = ""
        self._fed = 0
        self._feeding = 0
        self._begin()

    @property
    def is_midway(self) -> bool:
        """Part of a message has arrived."""
        return bool(self._fed or self._target)

    @property
    def body_size(self) -> int:
        """Bytes of the body that is being received."""
        return self._size

    @property
    def client(self) -> Hashable:
        """Who sends the body that is being received."""
        return client_of(self._headers, self._peer)

    @property
    def is_backlogged(self) -> bool:
        """Enough requests wait to be answered; feed nothing more until some are."""
        if len(self.arrived) >= self._limits.pipelined:
            return True
        waiting = sum(len(request.body) for request in self.arrived if isinstance(request, Request))
        return waiting >= self._limits.body_bytes

    def feed(self, data: bytes | memoryview) -> None:
        """Feed slices: all requests that one call completes go into `arrived`."""
        if self._is_done:
            return
        before = self.count
        self._feeding = len(data)
        try:
            self._machine.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data, upgrade)
        except httptools.HttpParserError as error:
            self._break_off(error)
        if self.count != before:
            self._fed = 0
        else:
            self._fed += len(data)
            if self._fed > self._limits.header_bytes + _FRAMING_PER_BYTE * self._size:
                self.refuse(431, f"request headers are larger than {self._limits.header_bytes} bytes")

    def refuse(self, status: int, message: str) -> None:
        """End the input with an error."""
        if not self._is_done:
            self._is_done = True
            self.arrived.append(Refusal(status, message))

    def release(self) -> None:
        """End parsing. It breaks the reference cycle between httptools and this object, which frees both at once."""
        self._is_done = True
        self.arrived.clear()
        del self._machine

    def _begin(self) -> None:
        self._target = b""
        self._headers = Headers()
        self._repeats = 0
        self._pieces: list[bytes | bytearray] = []
        self._size = 0
        self._is_last = False
        self._is_http10 = False
        self._is_upgrade = False
        self.in_body = False
        self.is_chunked = False
        self.awaits_continue = False

    # Called by httptools, in the order of the message.

    def on_url(self, part: bytes) -> None:
        self._target += part
        if len(self._target) > self._limits.target_bytes:
            self._fail(414, f"request target is longer than {self._limits.target_bytes} bytes")

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.in_body:
            return  # Trailers may not change the headers.
        key = _names.get(name) or _lower(name)
        headers = self._headers
        text = value.decode("latin-1").rstrip(" \t")
        if key in headers:
            headers.add(key, text)
            self._repeats += 1
            if self._repeats > self._limits.headers:
                # At once: each repeat copies all that were before it.
                self._fail(431, f"request has more than {self._limits.headers} headers")
        else:
            headers[key] = text

    def on_headers_complete(self) -> None:
        headers = self._headers
        limits = self._limits
        if len(self._headers) > limits.headers or (headers.has_repeats and headers.count() > limits.headers):
            self._fail(431, f"request has more than {limits.headers} headers")
        if self._fed + self._feeding > limits.header_bytes and self._head_size() > limits.header_bytes:
            self._fail(431, f"request headers are larger than {limits.header_bytes} bytes")
        self.in_body = True
        if not self._machine.should_keep_alive() or not _SPECIAL.isdisjoint(headers):
            self._read_special()
        host = headers.get("host")
        if host != self._host:
            self._check_host(host)

    def on_body(self, piece: bytes) -> None:
        self.awaits_continue = False
        self._size += len(piece)
        if self._size > self._limits.body_bytes:
            self._fail(413, f"request body is larger than {self._limits.body_bytes} bytes")
        pieces = self._pieces
        if not pieces or len(piece) >= _SMALL_PIECE:
            pieces.append(piece)
        elif type(pieces[-1]) is bytearray:
            pieces[-1] += piece
        else:
            pieces.append(bytearray(piece))

    def on_message_complete(self) -> None:
        if self._is_upgrade:
            return
        pieces = self._pieces
        method = self._machine.get_method()
        if method == b"CONNECT":
            self._fail(501, "method CONNECT is not supported")
        path, _, query = self._origin_form().partition("?")
        request = Request(
            method.decode(),
            path,
            query,
            self._headers,
            b"" if not pieces else bytes(pieces[0]) if len(pieces) == 1 else b"".join(pieces),
            self._peer,
            self._scratch,
            self._is_last,
            self._is_http10,
            b"" if self._ids is None else self._ids.line_of(self._headers),
        )
        self.arrived.append(request)
        self.count += 1
        if self._is_last:
            self._is_done = True
        self._begin()

    def _read_special(self) -> None:
        headers, machine = self._headers, self._machine
        version = machine.get_http_version()
        if version not in {"1.0", "1.1"}:
            self._fail(505, f"HTTP version {version} is not supported; use 1.1")
        self._is_http10 = version == "1.0"
        self._is_last = not machine.should_keep_alive()
        if "upgrade" in headers and machine.should_upgrade():
            self._is_upgrade = True
            return
        coding = headers.get("transfer-encoding")
        if coding is not None:
            if self._is_http10 or "content-length" in headers:
                self._fail(400, "Transfer-Encoding cannot be used with HTTP/1.0 or beside Content-Length")
            if coding.lower() != "chunked":
                self._fail(501, "only the transfer coding chunked is supported")
            self.is_chunked = True
        length = int(headers.get("content-length", "0"))
        if length > self._limits.body_bytes:
            self._fail(413, f"request body is larger than {self._limits.body_bytes} bytes")
        expectation = headers.get("expect")
        if expectation is not None and not self._is_http10:
            if expectation.lower() != "100-continue":
                self._fail(417, "only the expectation 100-continue is supported")
            self.awaits_continue = coding is not None or length > 0

    def _check_host(self, host: str | None) -> None:
        if host is None:
            if not self._is_http10:
                self._fail(400, "header Host is missing")
            return
        if len(self._headers.get_all("host")) > 1:
            self._fail(400, "header Host appears more than once")
        if not _HOST.fullmatch(host):
            self._fail(400, "header Host is not a host name")
        self._host = host

    def _origin_form(self) -> str:
        """Path and query of the target, which may be in absolute form."""
        target = self._target.decode("latin-1")
        if target[0] == "/" and "#" not in target:
            return target
        if target == "*" and self._machine.get_method() == b"OPTIONS":
            return target
        absolute = _ABSOLUTE.fullmatch(target)
        if absolute is None or not absolute[1] or not _HOST.fullmatch(absolute[1]):
            self._fail(400, "request target is not a path")
        # The target takes precedence over Host: RFC 9112, 3.2.2.
        self._headers["host"] = absolute[1]
        rest = absolute[2]
        return rest if rest.startswith("/") else "/" + rest

    def _head_size(self) -> int:
        lines = sum(len(name) + len(value) + 4 for name, value in self._headers.items())
        return len(self._target) + lines

    def _ignore_upgrade(self, data: bytes | memoryview, upgrade: httptools.HttpParserUpgrade | None) -> None:
        """Parse the message again without its Upgrade header: httptools stops at it and leaves the body unread."""
        while upgrade is not None:
            data = self._head_again() + bytes(data[upgrade.args[0] :])
            upgrade = None
            self._machine = httptools.HttpRequestParser(self)
            self._begin()
            try:
                self._machine.feed_data(data)
            except httptools.HttpParserUpgrade as another:
                upgrade = another
            except httptools.HttpParserError as error:
                self._break_off(error)

    def _head_again(self) -> bytes:
        version = self._machine.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self._machine.get_method(), self._target, version)]
        for name in self._headers:
            if name != "upgrade":
                lines += (f"{name}: {value}".encode("latin-1") for value in self._headers.get_all(name))
        return b"\r\n".join(lines) + b"\r\n\r\n"

    def _break_off(self, error: httptools.HttpParserError) -> None:
        if self._refusal is not None:
            self.refuse(self._refusal.status, self._refusal.message)
        elif isinstance(error, httptools.HttpParserCallbackError):
            raise error
        elif isinstance(error, httptools.HttpParserInvalidMethodError):
            self.refuse(501, "request method is not known")
        else:
            self.refuse(400, f"malformed request: {error}")

    def _fail(self, status: int, message: str) -> NoReturn:
        self._refusal = Refusal(status, message)
        raise _RefusedError


def _lower(name: bytes) -> str:
    lower = name.decode("latin-1").lower()
    if len(name) <= _LONGEST_NAME:
        # Whoever sends many names must not keep out those that all clients send.
        if len(_names) >= _KEPT_NAMES:
            _names.clear()
        _names[name] = lower
    return lower
