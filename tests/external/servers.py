"""HTTP servers in this process, of the sort that tests talk to."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from homeostat.edge.tls.certificates import Signer, Subject, Validity, name_of, sign_authority, sign_leaf

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The address of a server that answers every request by the handler."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return await handler(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"{'https' if tls else 'http'}://{host}:{port}"
    finally:
        await runner.cleanup()


def own_authority(folder: Path) -> tuple[ssl.SSLContext, str]:
    """What a server of this machine needs for TLS, and the authority that its clients have to trust."""
    now = datetime.now(UTC)
    span, subject = Validity(now, now + timedelta(days=1)), Subject("127.0.0.1", hosts=frozenset({"127.0.0.1"}))
    signer = Signer(name_of(Subject("authority")), ec.generate_private_key(ec.SECP256R1()))
    key = ec.generate_private_key(ec.SECP256R1())
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "leaf").write_bytes(sign_leaf(signer, subject, key.public_key(), span) + key.private_bytes(*plain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "leaf")
    return context, sign_authority(signer, span).decode()


@asynccontextmanager
async def hanging_up() -> AsyncIterator[str]:
    """A server that takes a request and answers nothing."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        server.close()
        await server.wait_closed()


class Proxy:
    """`targets` are the hosts and ports that tunnels led to; `names` are those that it alone resolves."""

    def __init__(self, username: str, password: str) -> None:
        self._credentials = base64.b64encode(f"{username}:{password}".encode())
        self.targets: list[str] = []
        self.names: dict[str, str] = {}
        self.port = 0

    def url(self, username: str, password: str) -> str:
        return f"http://{username}:{password}@127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            if b"proxy-authorization: basic " + self._credentials.lower() not in head.lower():
                writer.write(
                    b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                )
            else:
                await self._join(head.split()[1].decode(), reader, writer)
        writer.close()

    async def _join(self, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.targets.append(target)
        host, _, port = target.rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(self.names.get(host, host), int(port))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def tunnelling(username: str, password: str) -> AsyncIterator[Proxy]:
    """A proxy that tunnels for those who present these credentials."""
    proxy = Proxy(username, password)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await server.wait_closed()
