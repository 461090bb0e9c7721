"""The way of `git` to HTTP servers: a SOCKS5 proxy of this process, which keeps the rule for addresses.

`git` resolves names and follows redirects by itself, so a check before it runs would check another connection. All its
connections go through this relay instead, which resolves the name, judges the address and connects to that address
(`dial.py`). The relay listens on loopback while one `git` runs, and requires credentials that only this `git` has.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from homeostat.external.addresses import RefusedAddressError
from homeostat.external.dial import open_stream, reason_of

_CHUNK: Final = 1 << 16
_HANDSHAKE_S: Final = 10.0
_MOST_CONNECTIONS: Final = 16
_VERSION: Final = 5
_WITH_PASSWORD: Final = 2
_CONNECT: Final = 1
_IPV4, _NAME, _IPV6 = 1, 3, 4
_SUCCEEDED, _FAILED, _NOT_ALLOWED, _UNREACHABLE, _UNSUPPORTED = 0, 1, 2, 4, 7


class _SocksError(Exception):
    """The client violates the protocol, or has no valid credentials."""


class Relay:
    """`refusal` and `failure` say why the last connection was not made."""

    def __init__(self, *, allows_private: bool = True) -> None:
        self.refusal = ""
        self.failure = ""
        self._allows_private = allows_private
        self._username, self._password = secrets.token_hex(16), secrets.token_hex(16)
        self._port = 0
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """For `http.proxy`: the proxy resolves names."""
        return f"socks5h://{self._username}:{self._password}@127.0.0.1:{self._port}"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Relay]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_CHUNK)
        self._port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= _MOST_CONNECTIONS:
            writer.close()
            return
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(lambda _: writer.close())
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(_SocksError, OSError, EOFError, TimeoutError):
            await self._carry(reader, writer)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_HANDSHAKE_S):
            await self._authenticate(reader, writer)
            host, port = await _read_target(reader, writer)
        opened = await self._open(host, port, writer)
        if opened is None:
            return
        far_reader, far_writer = opened
        try:
            _reply(writer, _SUCCEEDED)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_copy(reader, far_writer))
                tasks.create_task(_copy(far_reader, writer))
        except* OSError:
            pass
        finally:
            far_writer.close()

    async def _authenticate(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readexactly(1) != bytes((_VERSION,)):
            raise _SocksError
        methods = await reader.readexactly((await reader.readexactly(1))[0])
        if _WITH_PASSWORD not in methods:
            writer.write(bytes((_VERSION, 0xFF)))
            raise _SocksError
        writer.write(bytes((_VERSION, _WITH_PASSWORD)))
        await reader.readexactly(1)
        username = await reader.readexactly((await reader.readexactly(1))[0])
        password = await reader.readexactly((await reader.readexactly(1))[0])
        is_known = hmac.compare_digest(username + b":" + password, f"{self._username}:{self._password}".encode())
        writer.write(bytes((1, 0 if is_known else 1)))
        if not is_known:
            raise _SocksError

    async def _open(
        self, host: str, port: int, writer: asyncio.StreamWriter
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        try:
            return await open_stream(host, port, allows_private=self._allows_private)
        except RefusedAddressError as error:
            self.refusal = str(error.strerror)
            _reply(writer, _NOT_ALLOWED)
        except OSError as error:
            self.failure = f"cannot connect to {host}:{port}: {reason_of(error)}"
            _reply(writer, _UNREACHABLE)
        return None


async def _read_target(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int]:
    version, command, _, kind = await reader.readexactly(4)
    if kind == _NAME:
        host = (await reader.readexactly((await reader.readexactly(1))[0])).decode("ascii", errors="replace")
    elif kind in (_IPV4, _IPV6):
        host = str(ipaddress.ip_address(await reader.readexactly(4 if kind == _IPV4 else 16)))
    else:
        raise _SocksError
    port = int.from_bytes(await reader.readexactly(2), "big")
    if version != _VERSION or command != _CONNECT:
        _reply(writer, _UNSUPPORTED)
        raise _SocksError
    return host, port


def _reply(writer: asyncio.StreamWriter, code: int) -> None:
    writer.write(bytes((_VERSION, code, 0, _IPV4)) + bytes(6))


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while chunk := await source.read(_CHUNK):
        target.write(chunk)
        await target.drain()
    if target.can_write_eof():
        target.write_eof()
