"""HTTP servers in this process, of the sort that tests talk to."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from homeostat.edge.certificates import Signer, Span, Subject, name_of, sign_authority, sign_leaf

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
    span, subject = Span(now, now + timedelta(days=1)), Subject("127.0.0.1", hosts=frozenset({"127.0.0.1"}))
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
