"""Responses, and how their status line and headers are encoded.

The head of a response is encoded once for each (status, type, headers) and then cached, because a server repeats the
same few heads. Encoding refuses values that would break out of their line, and the fields that decide where a message
ends: only the connection sets those.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from http import HTTPStatus

import msgspec

from homeostat.edge.items import Items
from homeostat.edge.stream import Stream

Fields = tuple[tuple[str, str], ...]


class Reply(msgspec.Struct):
    """A complete response. A list is written piece by piece, so it is never copied as a whole."""

    status: int
    body: bytes | Items = b""
    content_type: str = "application/json"
    headers: Fields = ()
    lines: bytes = b""
    """Header lines, encoded, that differ between responses with the same head. Set by whoever passes the reply on."""


class StreamReply(msgspec.Struct):
    """A response that is sent bit by bit: `start` is called with the stream once the head is written."""

    status: int
    start: Callable[[Stream], None]
    content_type: str = "application/json"
    headers: Fields = ()
    is_finite: bool = False
    """The stream ends by itself, and is incomplete before. A server that stops lets it finish."""
    reserved_bytes: int = 0
    """Memory that the sender uses while it waits for the client to read."""
    lines: bytes = b""
    """As those of a `Reply`."""


# Up to this size, copying the body behind the head is cheaper than a second write.
JOINED = 64 * 1024

_BODILESS = frozenset({204, 304})

_REASONS = {status.value: status.phrase for status in HTTPStatus}
_OWN_FIELDS = frozenset({"connection", "content-length", "keep-alive", "transfer-encoding", "upgrade", "trailer"})
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_KEPT_HEADS = 1024
_LARGEST_HEAD = 2048

_heads: dict[tuple[int, str, Fields], bytes] = {}


def head_of(status: int, content_type: str, headers: Fields) -> bytes:
    """Status line and fields, without the length; `ValueError` for values that cannot be sent safely."""
    key = (status, content_type, headers)
    head = _heads.get(key)
    if head is None:
        head = _render(status, content_type, headers)
        # A longer one has texts of users in it: warnings, or where a login leads to.
        if len(head) <= _LARGEST_HEAD:
            if len(_heads) >= _KEPT_HEADS:
                _heads.clear()
            _heads[key] = head
    return head


def encode(
    reply: Reply, *, is_head: bool, is_http10: bool, is_last: bool, more: bytes = b""
) -> tuple[bytes, bytes | Items]:
    """The complete head, `more` lines included, and the body to send after it."""
    head = head_of(reply.status, reply.content_type, reply.headers)
    body = reply.body
    if isinstance(body, bytes):
        size = len(body)
    else:
        size = body.size
        body = body.whole() if size <= JOINED else body
    if not (is_last or is_http10 or is_head or reply.status in _BODILESS):
        return b"%b%bContent-Length: %d\r\n\r\n" % (head, more, size), body
    head += more
    if reply.status not in _BODILESS:
        head = b"%bContent-Length: %d\r\n" % (head, size)
    head += connection_line(is_http10=is_http10, is_last=is_last)
    return head + b"\r\n", b"" if is_head or reply.status in _BODILESS else body


def connection_line(*, is_http10: bool, is_last: bool) -> bytes:
    if is_last:
        return b"Connection: close\r\n"
    return b"Connection: keep-alive\r\n" if is_http10 else b""


def _render(status: int, content_type: str, headers: Fields) -> bytes:
    if not 200 <= status <= 599:
        raise ValueError(f"status {status} is not a final status")
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, '')}"]
    if content_type:
        lines.append(_line("Content-Type", content_type))
    for name, value in headers:
        if name.lower() in _OWN_FIELDS:
            raise ValueError(f"header {name!r} belongs to the connection and cannot be set by a reply")
        lines.append(_line(name, value))
    return ("\r\n".join(lines) + "\r\n").encode("latin-1")


def _line(name: str, value: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"header name {name!r} is not a token")
    if not _VALUE.fullmatch(value):
        raise ValueError(f"value of header {name!r} contains an invalid character")
    return f"{name}: {value}"
