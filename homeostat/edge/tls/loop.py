"""An event loop whose clients use `TlsTransport`: a connection that waits takes some KiB, and not 256 (decision 44)."""

from __future__ import annotations

import asyncio
import ssl as tls
from collections.abc import Callable
from typing import Any, TypeVar, cast

import uvloop

from homeostat.edge.connection.turns import turns_of
from homeostat.edge.tls.transport import TlsTransport

_HANDSHAKE_S = 60.0
P = TypeVar("P", bound=asyncio.BaseProtocol)


class _Paused(asyncio.Protocol):
    """Takes the place of a protocol until the handshake is over, and keeps for it what the server sent along."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.Transport, transport).pause_reading()


class Loop(uvloop.Loop):  # type: ignore[misc]
    async def create_connection(
        self,
        protocol_factory: Callable[[], P],
        host: str | None = None,
        port: int | None = None,
        *,
        ssl: tls.SSLContext | bool | None = None,
        server_hostname: str | None = None,
        ssl_handshake_timeout: float | None = None,
        **settings: Any,
    ) -> tuple[asyncio.BaseTransport, P]:
        protocol = protocol_factory()
        if not isinstance(ssl, tls.SSLContext) or not isinstance(protocol, asyncio.Protocol):
            made: tuple[asyncio.BaseTransport, P] = await super().create_connection(
                lambda: protocol,
                host,
                port,
                ssl=ssl,
                server_hostname=server_hostname,
                ssl_handshake_timeout=ssl_handshake_timeout,
                **settings,
            )
            return made
        if (name := server_hostname or host) is None:
            raise ValueError("the name of the server is missing; pass server_hostname")
        settings.pop("ssl_shutdown_timeout", None)
        transport = TlsTransport(protocol, ssl, name, turns_of(self))
        await super().create_connection(lambda: transport, host, port, **settings)
        async with asyncio.timeout(ssl_handshake_timeout or _HANDSHAKE_S):
            await transport.ready()
        return transport, protocol

    async def start_tls(
        self,
        transport: asyncio.BaseTransport,
        protocol: asyncio.BaseProtocol,
        sslcontext: tls.SSLContext,
        *,
        server_hostname: str | None = None,
        ssl_handshake_timeout: float | None = None,
        **settings: Any,
    ) -> asyncio.BaseTransport | None:
        """Through a proxy that is spoken to by TLS, it is TLS in TLS."""
        if not isinstance(transport, TlsTransport):
            settings |= {"server_hostname": server_hostname, "ssl_handshake_timeout": ssl_handshake_timeout}
            upgraded: asyncio.BaseTransport | None = await super().start_tls(
                transport, protocol, sslcontext, **settings
            )
            return upgraded
        if settings.get("server_side") or server_hostname is None:
            raise ValueError("TLS in TLS is for clients; pass server_hostname, and not server_side")
        # As everywhere, the caller reports the new transport to its protocol.
        inner = TlsTransport(_Paused(), sslcontext, server_hostname, turns_of(self))
        transport.set_protocol(inner)
        inner.connection_made(transport)
        async with asyncio.timeout(ssl_handshake_timeout or _HANDSHAKE_S):
            await inner.ready()
        inner.set_protocol(protocol)
        if inner.is_closing():
            raise ConnectionResetError("the connection was closed right after the TLS handshake")
        inner.resume_reading()
        return inner
