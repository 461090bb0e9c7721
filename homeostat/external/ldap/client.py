"""An LDAP client: bind and search, on the event loop, bounded in time and size.

    async with open_ldap(Server("ldaps://ldap.example.com")) as connection:
        if await connection.bind("uid=anna,dc=example,dc=com", password): ...
        async for entry in connection.search("dc=example,dc=com", "(objectClass=person)", ["uid"]): ...

Passwords are sent encrypted: an `ldap://` connection is upgraded with StartTLS, unless the server is on this machine or
`is_plain_allowed` is set. An empty password is refused here: many directories accept it as an anonymous bind.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import secrets
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from typing import Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from homeostat.edge.threads import in_thread
from homeostat.edge.turn import shared_turn
from homeostat.external.addresses import RefusedAddressError
from homeostat.external.dial import open_stream
from homeostat.external.ldap.ber import BerError, elements, size_of
from homeostat.external.ldap.message import (
    BOUND,
    DONE,
    ENTRY,
    EXTENDED,
    MESSAGE,
    REFERENCE,
    START_TLS,
    SUCCESS,
    UNBIND,
    WRONG,
    Entry,
    LdapError,
    Received,
    bind_request,
    message,
    paging,
    read_cookie,
    read_entry,
    read_message,
    read_result,
    reading,
    search_request,
)

__all__ = ["Connection", "Entry", "LdapError", "Server", "open_ldap"]

_LARGEST_MESSAGE: Final = 4 << 20
_LARGE_BYTES: Final = 16 * 1024
"""A larger message is decoded in a thread: 4 MiB of tiny elements take seconds."""
_MOST_ENTRIES: Final = 100_000
_MOST_FIRST: Final = 1 << 30
T = TypeVar("T")


class Server(msgspec.Struct, frozen=True):
    url: str
    tls: ssl.SSLContext | None = None
    """Other trusted authorities than the system's."""
    is_plain_allowed: bool = False
    timeout_s: float = 15.0


class Connection:
    """Handles one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeout_s: float) -> None:
        self._reader, self._writer, self._timeout_s = reader, writer, timeout_s
        self._turn = shared_turn()
        self._last = 0

    async def bind(self, name: str, password: str) -> bool:
        """Whether the password is right; `LdapError` if the directory does not decide."""
        if not name or not password:
            return False
        await self._send(bind_request(name, password))
        result = read_result(await self._receive(), BOUND)
        if result.code not in {SUCCESS, *WRONG}:
            raise LdapError(f"the directory refused to check a password: {result.text}")
        return result.code == SUCCESS

    async def search(self, base: str, wanted: str, attributes: Sequence[str]) -> AsyncIterator[Entry]:
        """All entries below the base that match the filter, fetched in pages; `FilterError` for an invalid filter."""
        request = search_request(base, wanted, attributes)
        cookie, count = b"", 0
        while True:
            await self._send(request, paging(cookie))
            received = await self._receive()
            while received.tag in (ENTRY, REFERENCE):
                if received.tag == ENTRY:
                    count += 1
                    if count > _MOST_ENTRIES:
                        raise LdapError(f"more than {_MOST_ENTRIES} entries match; narrow LDAP_USER_FILTER")
                    yield await _decoded(partial(read_entry, received), len(received.value))
                received = await self._receive()
            result = read_result(received, DONE)
            if result.code != SUCCESS:
                raise LdapError(f"the directory refused a search: {result.text}")
            cookie = read_cookie(received)
            if not cookie:
                return

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        await self._send(START_TLS)
        result = read_result(await self._receive(), EXTENDED)
        if result.code != SUCCESS:
            raise LdapError(f"the directory refused StartTLS: {result.text}")
        async with _bounded(self._timeout_s):
            await self._writer.start_tls(context, server_hostname=host)
        # A response that an attacker injected before TLS was up cannot have the number of a later request.
        self._last = secrets.randbelow(_MOST_FIRST)

    async def close(self) -> None:
        with contextlib.suppress(LdapError):
            await self._send(UNBIND)
        self._writer.close()
        with contextlib.suppress(OSError, ssl.SSLError, TimeoutError):
            async with asyncio.timeout(1.0):
                await self._writer.wait_closed()

    async def _send(self, operation: bytes, controls: bytes = b"") -> None:
        self._last += 1
        async with _bounded(self._timeout_s):
            self._writer.write(message(self._last, operation, controls))
            await self._writer.drain()

    async def _receive(self) -> Received:
        """The next message that responds to our last request."""
        async with _bounded(self._timeout_s):
            while True:
                await self._turn.pause()
                data = await self._message()
                received = await _decoded(partial(read_message, data), len(data))
                if received.number == self._last:
                    if received.tag != ENTRY and len(data) > _LARGE_BYTES:
                        raise LdapError("the response of the directory is too large")
                    return received
                if received.number == 0:
                    raise LdapError("the directory closed the connection")

    async def _message(self) -> bytes:
        with reading():
            data = await self._reader.readexactly(2)
            while (size := size_of(data)) is None:
                data += await self._reader.readexactly(1)
            if data[0] != MESSAGE or size > _LARGEST_MESSAGE:
                raise BerError("invalid message, or too large")
            data += await self._reader.readexactly(size - len(data))
            return next(elements(data))[1]


async def _decoded(decode: Callable[[], T], size: int) -> T:
    return await in_thread(decode, user="directory") if size > _LARGE_BYTES else decode()


@asynccontextmanager
async def open_ldap(server: Server) -> AsyncIterator[Connection]:
    parts = urlsplit(server.url)
    host, is_tls = parts.hostname or "", parts.scheme == "ldaps"
    if parts.scheme not in ("ldap", "ldaps") or not host:
        raise LdapError("the URL of a directory looks like ldaps://ldap.example.com or ldap://ldap.example.com:389")
    context = server.tls or _default_tls()
    async with _bounded(server.timeout_s):
        port = parts.port or (636 if is_tls else 389)
        reader, writer = await open_stream(host, port, ssl=context if is_tls else None, timeout_s=server.timeout_s)
    connection = Connection(reader, writer, server.timeout_s)
    try:
        if not is_tls and not server.is_plain_allowed and not _is_loopback(host):
            await connection.start_tls(context, host)
        yield connection
    finally:
        await connection.close()


@lru_cache(1)
def _default_tls() -> ssl.SSLContext:
    """The system's authorities; cached, because reading them takes a while."""
    return ssl.create_default_context()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@asynccontextmanager
async def _bounded(timeout_s: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError as error:
        raise LdapError(f"the directory timed out after {timeout_s:g} s") from error
    except ssl.SSLError as error:
        raise LdapError(f"the directory is not trusted: {error.reason}") from error
    except RefusedAddressError as error:
        raise LdapError(f"cannot reach the directory: {error.strerror}") from error
    except (OSError, EOFError) as error:
        raise LdapError(f"cannot reach the directory: {type(error).__name__}") from error
