"""A directory that speaks LDAP: binding and searching, on the event loop, bounded in time and size.

    async with open_ldap(Server("ldaps://ldap.example.com")) as connection:
        if await connection.bind("uid=anna,dc=example,dc=com", password): ...
        async for entry in connection.search("dc=example,dc=com", "(objectClass=person)", ["uid"]): ...

A password is never sent in clear: `ldap://` goes on under TLS (StartTLS), unless the server is on this machine or its
owner says otherwise. An empty password is no password: many directories take it for nobody and say yes.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import secrets
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from homeostat.external.ber import (
    ENUMERATED,
    OCTETS,
    SEQUENCE,
    BerError,
    boolean,
    element,
    elements,
    integer,
    octets,
    read_integer,
    size_of,
)
from homeostat.external.ldapfilter import encode_filter

_LARGEST_MESSAGE: Final = 4 << 20
_PAGE: Final = 500
_MOST_ENTRIES: Final = 100_000
_MOST_FIRST: Final = 1 << 30
_PAGED: Final = "1.2.840.113556.1.4.319"
_START_TLS: Final = "1.3.6.1.4.1.1466.20037"
_BIND, _BOUND = 0x60, 0x61
_UNBIND: Final = 0x42
_SEARCH, _ENTRY, _DONE, _REFERENCE = 0x63, 0x64, 0x65, 0x73
_EXTEND, _EXTENDED = 0x77, 0x78
_CONTROLS: Final = 0xA0
_SIMPLE: Final = 0x80
_WHOLE_TREE: Final = 2
_SUCCESS: Final = 0
_WRONG: Final = frozenset({19, 32, 34, 48, 49, 50, 53})
"""Constraint, no such object, no such name, no such way, wrong credentials, no rights, unwilling: not this one."""


class LdapError(Exception):
    """The directory cannot be reached, refuses, or does not speak LDAP. The text holds no password."""


@dataclass(frozen=True, slots=True)
class Server:
    url: str
    tls: ssl.SSLContext | None = None
    """To trust others than the system does."""
    is_plain_allowed: bool = False
    timeout_s: float = 15.0


class Entry(NamedTuple):
    name: str
    """The distinguished name."""
    attributes: dict[str, list[str]]
    """By names in lower case; values that are no text are left out."""


class _Result(NamedTuple):
    code: int
    told: str


class Connection:
    """One request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeout_s: float) -> None:
        self._reader, self._writer, self._timeout_s = reader, writer, timeout_s
        self._last = 0

    async def bind(self, name: str, password: str) -> bool:
        """Whether that is the password; `LdapError` where the directory does not say."""
        if not name or not password:
            return False
        await self._send(element(_BIND, integer(3), octets(name), octets(password, _SIMPLE)))
        tag, value, _ = await self._receive()
        result = _result(tag, value, _BOUND)
        if result.code not in {_SUCCESS, *_WRONG}:
            raise LdapError(f"the directory refused to check a password: {result.told}")
        return result.code == _SUCCESS

    async def search(self, base: str, wanted: str, attributes: Sequence[str]) -> AsyncIterator[Entry]:
        """All below the base that the filter fits, fetched in pages; `FilterError` for what is no filter."""
        request = element(
            _SEARCH,
            octets(base),
            integer(_WHOLE_TREE, ENUMERATED),
            integer(0, ENUMERATED),
            integer(0),
            integer(0),
            boolean(False),
            encode_filter(wanted),
            element(SEQUENCE, *(octets(each) for each in attributes)),
        )
        cookie, count = b"", 0
        while True:
            await self._send(request, _paged(cookie))
            tag, value, controls = await self._receive()
            while tag in (_ENTRY, _REFERENCE):
                if tag == _ENTRY:
                    count += 1
                    if count > _MOST_ENTRIES:
                        raise LdapError(f"the directory has more than {_MOST_ENTRIES} entries that fit")
                    yield _entry(value)
                tag, value, controls = await self._receive()
            result = _result(tag, value, _DONE)
            if result.code != _SUCCESS:
                raise LdapError(f"the directory refused a search: {result.told}")
            with _reading():
                cookie = _cookie(controls)
            if not cookie:
                return

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        await self._send(element(_EXTEND, octets(_START_TLS, 0x80)))
        tag, value, _ = await self._receive()
        result = _result(tag, value, _EXTENDED)
        if result.code != _SUCCESS:
            raise LdapError(f"the directory has no TLS for this connection: {result.told}")
        async with _bounded(self._timeout_s):
            await self._writer.start_tls(context, server_hostname=host)
        # What somebody sent in clear and was not read yet answers no number that it could know.
        self._last = secrets.randbelow(_MOST_FIRST)

    async def close(self) -> None:
        with contextlib.suppress(LdapError):
            await self._send(element(_UNBIND))
        self._writer.close()
        with contextlib.suppress(OSError, ssl.SSLError, TimeoutError):
            await asyncio.wait_for(self._writer.wait_closed(), 1.0)

    async def _send(self, operation: bytes, controls: bytes = b"") -> None:
        self._last += 1
        async with _bounded(self._timeout_s):
            self._writer.write(element(SEQUENCE, integer(self._last), operation, controls))
            await self._writer.drain()

    async def _receive(self) -> tuple[int, bytes, bytes]:
        """Tag and value of the next message of ours, and its controls."""
        async with _bounded(self._timeout_s):
            while True:
                with _reading():
                    parts = list(elements(await self._message()))
                    number, (tag, value) = read_integer(parts[0][1]), parts[1]
                controls = parts[2][1] if len(parts) > 2 and parts[2][0] == _CONTROLS else b""
                if number == self._last:
                    return tag, value, controls
                if number == 0:
                    raise LdapError("the directory ended the connection")

    async def _message(self) -> bytes:
        data = await self._reader.readexactly(2)
        while (size := size_of(data)) is None:
            data += await self._reader.readexactly(1)
        if data[0] != SEQUENCE or size > _LARGEST_MESSAGE:
            raise BerError("a message is too large, or none")
        data += await self._reader.readexactly(size - len(data))
        return next(elements(data))[1]


@asynccontextmanager
async def open_ldap(server: Server) -> AsyncIterator[Connection]:
    parts = urlsplit(server.url)
    host, is_tls = parts.hostname or "", parts.scheme == "ldaps"
    if parts.scheme not in ("ldap", "ldaps") or not host:
        raise LdapError("the URL of a directory looks like ldaps://ldap.example.com or ldap://ldap.example.com:389")
    context = server.tls or _usual_tls()
    async with _bounded(server.timeout_s):
        reader, writer = await asyncio.open_connection(
            host, parts.port or (636 if is_tls else 389), ssl=context if is_tls else None
        )
    connection = Connection(reader, writer, server.timeout_s)
    try:
        if not is_tls and not server.is_plain_allowed and not _is_here(host):
            await connection.start_tls(context, host)
        yield connection
    finally:
        await connection.close()


@lru_cache(1)
def _usual_tls() -> ssl.SSLContext:
    """What the system trusts; it takes a while to read."""
    return ssl.create_default_context()


def _is_here(host: str) -> bool:
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
        raise LdapError(f"the directory did not answer within {timeout_s:g} s") from error
    except ssl.SSLError as error:
        raise LdapError(f"the directory is not trusted: {error.reason}") from error
    except (OSError, EOFError) as error:
        raise LdapError(f"the directory cannot be reached: {type(error).__name__}") from error


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (ValueError, IndexError, StopIteration) as error:
        raise LdapError("the directory does not speak LDAP") from error


def _result(tag: int, value: bytes, expected: int) -> _Result:
    if tag != expected:
        raise LdapError("the directory answered something else")
    with _reading():
        code, _, told, *_ = list(elements(value))
        number = read_integer(code[1])
        text = told[1].decode(errors="replace")[:200]
    return _Result(number, f"code {number} {text}".strip())


def _entry(value: bytes) -> Entry:
    with _reading():
        name, attributes, *_ = list(elements(value))
        return Entry(name[1].decode(), dict(_attribute(each) for _, each in elements(attributes[1])))


def _attribute(value: bytes) -> tuple[str, list[str]]:
    kind, values, *_ = list(elements(value))
    texts = []
    for _, each in elements(values[1]):
        with contextlib.suppress(UnicodeDecodeError):
            texts.append(each.decode())
    return kind[1].decode().lower(), texts


def _paged(cookie: bytes) -> bytes:
    value = element(SEQUENCE, integer(_PAGE), octets(cookie))
    return element(_CONTROLS, element(SEQUENCE, octets(_PAGED), octets(value)))


def _cookie(controls: bytes) -> bytes:
    for _, control in elements(controls):
        kind, *more = list(elements(control))
        value = next((each for tag, each in more if tag == OCTETS), None)
        if kind[1] == _PAGED.encode() and value is not None:
            _, cookie = list(elements(next(elements(value))[1]))
            return cookie[1]
    return b""
