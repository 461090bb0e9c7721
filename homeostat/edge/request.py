"""A request as a handler sees it: read completely, checked, with the peer that sent it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Hashable
from typing import Any

import msgspec

from homeostat.edge.ids import id_in


class Headers(dict[str, str]):
    """Header fields by lower-case name.

    A field that was sent more than once reads as one value joined by commas. For `Authorization` or `Content-Type` such
    a value is never accepted. `get_all` returns the lines separately, for fields that may repeat and contain commas.
    """

    __slots__ = ("_lines",)

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] | None = None

    def add(self, name: str, value: str) -> None:
        if name not in self:
            self[name] = value
            return
        if self._lines is None:
            self._lines = {}
        self._lines.setdefault(name, [self[name]]).append(value)
        self[name] = f"{self[name]}, {value}"

    @property
    def has_repeats(self) -> bool:
        return self._lines is not None

    def get_all(self, name: str) -> list[str]:
        if self._lines is not None and name in self._lines:
            return list(self._lines[name])
        return [self[name]] if name in self else []

    def count(self) -> int:
        """The number of lines, not of names."""
        if self._lines is None:
            return len(self)
        return len(self) + sum(len(lines) - 1 for lines in self._lines.values())


class Peer:
    """The other end of a connection."""

    __slots__ = ("_certificate", "_tls", "address", "is_tls")

    def __init__(self, address: str, tls: ssl.SSLObject | None = None) -> None:
        self.address = address
        self.is_tls = tls is not None
        self._tls = tls
        self._certificate: bytes | None = None

    @classmethod
    def of(cls, transport: asyncio.BaseTransport) -> Peer:
        name = transport.get_extra_info("peername")
        address = name[0] if isinstance(name, tuple) else ""
        return cls(address, transport.get_extra_info("ssl_object"))

    @property
    def certificate(self) -> bytes | None:
        """DER of the client certificate that the TLS handshake verified; None without one."""
        if self._tls is not None:
            # Neither renegotiation nor a later TLS 1.3 request can change it, so it is read once.
            self._certificate = self._tls.getpeercert(binary_form=True)
            self._tls = None
        return self._certificate


def client_of(headers: Headers, peer: Peer) -> Hashable:
    """Whose request it is, before anybody checks that: a token, a certificate, or else an address."""
    return headers.get("authorization", "").rpartition(" ")[2] or peer.certificate or peer.address


class Request(msgspec.Struct, frozen=True):
    method: str
    path: str
    """Still percent-encoded, without the query; `*` only for OPTIONS."""
    query: str
    headers: Headers
    body: bytes
    peer: Peer
    connection: dict[str, Any]
    """A cache that lives as long as the connection, for what would be the same for each of its requests."""
    is_last: bool = False
    """The client asked to close the connection after the response."""
    is_http10: bool = False
    id_line: bytes = b""
    """The header line of the response that names the request; empty if the server gives no ids."""

    @property
    def client(self) -> Hashable:
        return client_of(self.headers, self.peer)

    @property
    def id(self) -> str:
        """For logs and errors; empty if the server gives no ids."""
        return id_in(self.id_line)


NO_REQUEST = Request("", "", "", Headers(), b"", Peer(""), {})
"""Takes the place of one that was answered: a connection may stay open for long, and must not keep the body."""
