"""A client that sends exactly the bytes it is given, and a server to send them to."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from homeostat.edge.reply import Reply
from homeostat.edge.server import Handler, Limits, Server, serve

WAIT_S = 30.0


class Answered(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def refuse(status: int, message: str) -> Reply:
    return Reply(status, f"refused {status}: {message}".encode(), "text/plain")


@asynccontextmanager
async def running(
    handler: Handler, *, limits: Limits | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Server]:
    server = await serve(handler, limits=limits, ssl=tls, refuse=refuse)
    try:
        yield server
    finally:
        await server.stop(grace_s=0)


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        if not self.writer.is_closing():
            self.writer.write(data)

    async def get(self, target: str = "/", *lines: str) -> Answered:
        self.send(request("GET", target, *lines))
        return await self.answer()

    async def answer(self, *, to_head: bool = False) -> Answered:
        async with asyncio.timeout(WAIT_S):
            head = await self.reader.readuntil(b"\r\n\r\n")
            status_line, *lines = head.decode("latin-1").split("\r\n")[:-2]
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            status = int(status_line.split(" ")[1])
            if to_head or status in {100, 204, 304}:
                return Answered(status, headers, b"")
            if headers.get("transfer-encoding") == "chunked":
                return Answered(status, headers, b"".join([chunk async for chunk in self.chunks()]))
            return Answered(status, headers, await self.reader.readexactly(int(headers["content-length"])))

    async def chunks(self) -> AsyncIterator[bytes]:
        while chunk := await self.chunk():
            yield chunk

    async def chunk(self) -> bytes:
        """The next chunk of a streamed body; nothing at its end."""
        async with asyncio.timeout(WAIT_S):
            size = int(await self.reader.readuntil(b"\r\n"), 16)
            return (await self.reader.readexactly(size + 2))[:-2]

    async def head(self) -> bytes:
        async with asyncio.timeout(WAIT_S):
            return await self.reader.readuntil(b"\r\n\r\n")

    async def rest(self) -> bytes:
        """Everything up to the end of the connection, however it ends."""
        received = b""
        async with asyncio.timeout(WAIT_S):
            try:
                while data := await self.reader.read(65536):
                    received += data
            except (ConnectionError, ssl.SSLError):
                pass
        return received

    def close(self) -> None:
        self.writer.transport.abort()


@asynccontextmanager
async def connected(
    server: Server, *, tls: ssl.SSLContext | None = None, read_limit: int = 2**16
) -> AsyncIterator[Client]:
    name = "localhost" if tls else None
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", server.port, ssl=tls, server_hostname=name, limit=read_limit
    )
    client = Client(reader, writer)
    try:
        yield client
    finally:
        client.close()


def request(method: str = "GET", target: str = "/", *lines: str, body: bytes = b"") -> bytes:
    length = (f"Content-Length: {len(body)}",) if body else ()
    head = "\r\n".join((f"{method} {target} HTTP/1.1", "Host: test", *length, *lines))
    return head.encode("latin-1") + b"\r\n\r\n" + body


async def eventually(fact: Callable[[], object]) -> None:
    for _ in range(int(WAIT_S / 0.005)):
        if fact():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not come true in time")
