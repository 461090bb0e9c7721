"""More of the hostile clients: those whose webhooks answer at once, with as much as there may be. Loopback only."""

from __future__ import annotations

import asyncio
import base64
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.connection import connect
from benchmarks.soak import bodies
from benchmarks.soak.crowds import SPACE
from benchmarks.target import Target
from homeostat.web.certificates.authority import make_certificates

_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
_WRITERS = 32
_UID = b"UID"
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
Make = Callable[[bytes], bytes]
"""The response to the review of a uid."""


class _Review(msgspec.Struct):
    class _Request(msgspec.Struct):
        uid: str

    request: _Request


class Webhook(NamedTuple):
    port: int
    authority: str


def _identity(folder: Path) -> tuple[ssl.SSLContext, str]:
    life = timedelta(days=1)
    made = make_certificates("hooks", "soak", ["127.0.0.1"], now=datetime.now(UTC), life=life)
    chain, key = folder / "tls.crt", folder / "tls.key"
    chain.write_bytes(made.certificate)
    key.write_bytes(made.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    return context, base64.b64encode(made.authority).decode()


@asynccontextmanager
async def _answering(make: Make) -> AsyncIterator[Webhook]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while head := (await reader.readuntil(b"\r\n\r\n")).lower():
                size = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
                review = msgspec.json.decode(await reader.readexactly(size), type=_Review)
                writer.write(make(review.request.uid.encode()))
                await writer.drain()
        writer.close()

    with tempfile.TemporaryDirectory() as folder:
        context, authority = _identity(Path(folder))
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1000, ssl=context)
    try:
        yield Webhook(server.sockets[0].getsockname()[1], authority)
    finally:
        server.close()


async def _ask(target: Target, method: str, path: str, body: bytes) -> str:
    connection = await connect(target, target.context())
    try:
        return str((await connection.ask(target.request(method, path, body))).status)
    finally:
        connection.close()


async def _attacked(target: Target, make: Make) -> str:
    """Many writes at once, whose webhook answers like that."""
    written, body = f"{SPACE}/configmaps?dryRun=All", bodies.config_map("answered", "x")
    async with _answering(make) as webhook:
        await _ask(target, "DELETE", f"{_CONFIGURATIONS}/answers", b"{}")
        try:
            await _ask(target, "POST", _CONFIGURATIONS, bodies.answering_webhook(webhook.port, webhook.authority))
            answers = await asyncio.gather(*(_ask(target, "POST", written, body) for _ in range(_WRITERS)))
        finally:
            await _ask(target, "DELETE", f"{_CONFIGURATIONS}/answers", b"{}")
    return " ".join(sorted(set(answers)))


def _whole(answer: bytes) -> Make:
    return lambda uid: (
        _HEAD + b"Content-Length: %d\r\n\r\n" % (len(answer) - len(_UID) + len(uid)) + answer.replace(_UID, uid, 1)
    )


async def long_answers(target: Target) -> str:
    """As many warnings, annotations and operations as fit."""
    return await _attacked(target, _whole(bodies.long_answer()))


async def long_denials(target: Target) -> str:
    """Denials with as many causes as fit."""
    return await _attacked(target, _whole(bodies.long_denial()))


async def tiny_chunks(target: Target) -> str:
    """Answers in chunks of one byte."""
    answer = bodies.padded_answer()

    def make(uid: bytes) -> bytes:
        chunks = (b"1\r\n%c\r\n" % byte for byte in answer.replace(_UID, uid, 1))
        return _HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(chunks) + b"0\r\n\r\n"

    return await _attacked(target, make)


WEBHOOKS = {
    "long-answers": long_answers,
    "long-denials": long_denials,
    "tiny-chunks": tiny_chunks,
}
