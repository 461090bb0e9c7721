"""Opens connections to one server: directly, or through the proxy that stands before it.

What is encrypted goes through a proxy in a tunnel that the proxy cannot look into; what is not is asked of the proxy.
Every wait has an end; of several addresses of a name, one that is down does not keep from the others. Whatever goes
wrong here is a `DialError`: the server has seen nothing of a request.

A server is spoken to in clear only where its URL says `http`, and a proxy likewise; an address that no request could
name is a `KubeconfigError` when the dialer is made.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from base64 import b64encode
from urllib.parse import SplitResult, unquote, urlsplit

from homeostat.client.endpoint.endpoint import KubeconfigError, is_address
from homeostat.client.http.connection import Connection
from homeostat.client.http.unreachable import reason_of

_WITHIN_S = 10.0
_PORTS = {"http": 80, "https": 443}
_is_plain = re.compile(r"[!-~]*").fullmatch


class DialError(Exception):
    """No connection, in words for people."""


class Dialer:
    """`address` is for people, without what a URL may have of a password. `prefix` is what a request puts before its
    path; `headers` are for the proxy, where that is who is asked. Blocking when it is made.
    """

    def __init__(self, server: str, *, tls_name: str = "", proxy: str = "") -> None:
        self._server, self._proxy = _parsed(server, "server"), _parsed(proxy, "proxy") if proxy else None
        self._is_tls = self._server.scheme == "https"
        self._tls_name = tls_name or self._server.hostname or ""
        # Made once, since to read what the system trusts takes long.
        is_hidden = self._proxy is not None and self._proxy.scheme == "https"
        self._proxy_trust = ssl.create_default_context() if is_hidden else None
        self._reached = ""
        base = self._server.path.rstrip("/")
        is_asked = self._proxy is not None and not self._is_tls
        self.host = _authority(self._server)
        self.address = f"{self._server.scheme}://{self.host}{base}"
        self.prefix = f"http://{self.host}{base}" if is_asked else base
        self.headers = _authorization(self._proxy) if self._proxy is not None and is_asked else ""

    async def dial(self, context: ssl.SSLContext | None) -> Connection:
        """`context` is the server's; None where its URL says that nothing is encrypted."""
        if self._is_tls != (context is not None):
            raise DialError("whether it is encrypted is for its URL to say")
        try:
            async with asyncio.timeout(_WITHIN_S):
                if self._proxy is None:
                    return await self._connect(self._server, context, self._tls_name)
                connection = await self._connect(self._proxy, self._proxy_trust, self._proxy.hostname or "")
                return connection if context is None else await self._tunnel(connection, self._proxy, context)
        except (OSError, ValueError) as error:
            raise DialError(reason_of(error)) from error

    async def _connect(self, to: SplitResult, context: ssl.SSLContext | None, tls_name: str) -> Connection:
        """To one of the addresses of a name, and next time to the same one first. Each has its share of the time, for a
        machine that is down does not even refuse.
        """
        loop, port = asyncio.get_running_loop(), _port(to)
        ends_at = loop.time() + _WITHIN_S
        found = await loop.getaddrinfo(to.hostname or "", port, type=socket.SOCK_STREAM)
        addresses = sorted({str(each[4][0]): None for each in found}, key=lambda each: each != self._reached)
        for left in range(len(addresses), 0, -1):
            self._reached = addresses[-left]
            try:
                async with asyncio.timeout((ends_at - loop.time()) / left):
                    _, connection = await loop.create_connection(
                        Connection, self._reached, port, ssl=context, server_hostname=tls_name if context else None
                    )
                return connection
            except OSError:
                if left == 1:
                    raise
        raise OSError("its name has no address")

    async def _tunnel(self, outer: Connection, proxy: SplitResult, context: ssl.SSLContext) -> Connection:
        try:
            target = f"{_bracketed(self._server)}:{_port(self._server)}"
            head = await outer.open(
                f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{_authorization(proxy)}\r\n".encode("latin-1")
            )
            if head.status // 100 != 2:
                raise DialError(f"its proxy answers {head.status}")
            assert outer.transport is not None
            inner = Connection()
            loop = asyncio.get_running_loop()
            transport = await loop.start_tls(outer.transport, inner, context, server_hostname=self._tls_name)
            assert transport is not None
            inner.connection_made(transport)
            return inner
        except BaseException:
            outer.abort()
            raise


def _parsed(url: str, what: str) -> SplitResult:
    """The URL is not repeated in the error: it may have a password in it."""
    parts = urlsplit(url) if is_address(url) else None
    if parts is None or _is_plain(f"{parts.hostname}{parts.path}") is None:
        raise KubeconfigError(f"the address of the {what} cannot be used; expected http(s)://host:port")
    return parts


def _port(to: SplitResult) -> int:
    return to.port or _PORTS.get(to.scheme, 443)


def _authority(to: SplitResult) -> str:
    """Without the port that the scheme implies."""
    return _bracketed(to) if _port(to) == _PORTS.get(to.scheme) else f"{_bracketed(to)}:{_port(to)}"


def _bracketed(to: SplitResult) -> str:
    host = to.hostname or ""
    return f"[{host}]" if ":" in host else host


def _authorization(proxy: SplitResult) -> str:
    if not proxy.username:
        return ""
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return f"Proxy-Authorization: Basic {b64encode(pair.encode()).decode()}\r\n"
