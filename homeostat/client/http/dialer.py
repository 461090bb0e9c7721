"""Opens connections to one server, directly or through a proxy.

TLS connections use a tunnel through the proxy; plain requests are sent to the proxy. Every wait has a timeout; if a
name has several addresses, one that is down does not block the others. All errors are `DialError`: the server has not
seen the request.

A plain connection is used only if the URL of the server, or of the proxy, says `http`. An invalid address raises
`KubeconfigError` when the dialer is created.
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
    """The connection failed; the text says why."""


class Dialer:
    """`address` is the URL without a password, for messages. `prefix` precedes the path of a request; `headers` are for
    a proxy that gets plain requests. Its creation blocks.
    """

    def __init__(self, server: str, *, tls_name: str = "", proxy: str = "") -> None:
        self._server, self._proxy = _parsed(server, "server"), _parsed(proxy, "proxy") if proxy else None
        self._is_tls = self._server.scheme == "https"
        self._tls_name = tls_name or self._server.hostname or ""
        # Created once, because reading the trust store of the system takes long.
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
        """`context` is the TLS context for the server; None for a plain connection."""
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
        """Connects to one of the addresses of a name, and tries the same one first next time. Each address has its
        share of the timeout, because a machine that is down does not refuse the connection.
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
    """The error does not repeat the URL, which may contain a password."""
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
