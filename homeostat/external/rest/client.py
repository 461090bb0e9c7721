"""One HTTP exchange with a system outside, bounded in time and size, and honest about what may have happened.

The one question that matters after a failure is whether the other side acted: `NotSentError` says that it did not,
`AnswerLostError` that nobody knows. Redirects are answers like any other: whoever follows one decides what to send.
Errors name the host and never the URL, which may hold credentials.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import aiohttp
from aiohttp import AddrInfoType, SocketFactoryType

_LARGEST_ANSWER = 16 << 20
_CHUNK = 1 << 16


class ExchangeError(Exception):
    """No answer came."""

    reason = "Unreachable"


class NotSentError(ExchangeError):
    """The request did not reach the other side."""


class AnswerLostError(ExchangeError):
    """The request may have been carried out, or not."""

    reason = "AnswerLost"


class AnswerTooLargeError(AnswerLostError):
    reason = "AnswerTooLarge"


@dataclass(frozen=True, slots=True)
class Ask:
    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout_s: float = 30.0
    largest: int = _LARGEST_ANSWER


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    """By names in lower case."""
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Http:
    """A session that is opened at its first use, in the loop that uses it. `close` it, or use it as a context.

    `allows` is asked about each address that a connection is about to go to, whatever name or number led there.
    """

    def __init__(
        self, *, tls: ssl.SSLContext | None = None, connections: int = 100, allows: Callable[[str], bool] | None = None
    ) -> None:
        self._tls, self._connections = tls, connections
        self._factory = None if allows is None else _guarded(allows)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Http:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def send(self, ask: Ask) -> Answer:
        try:
            async with asyncio.timeout(ask.timeout_s):
                return await self._send(ask)
        except TimeoutError as error:
            raise AnswerLostError(f"{_host(ask.url)} did not answer within {ask.timeout_s:g} s") from error
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise NotSentError(f"{_host(ask.url)} cannot be reached: {type(error).__name__}") from error
        except (aiohttp.ClientError, OSError) as error:
            raise AnswerLostError(f"{_host(ask.url)} broke off: {type(error).__name__}") from error

    async def _send(self, ask: Ask) -> Answer:
        session = self._session or self._open()
        async with session.request(
            ask.method, ask.url, headers=ask.headers, data=ask.body, allow_redirects=False, ssl=self._tls or True
        ) as response:
            body = bytearray()
            async for chunk in response.content.iter_chunked(_CHUNK):
                body += chunk
                if len(body) > ask.largest:
                    raise AnswerTooLargeError(f"{_host(ask.url)} answered with more than {ask.largest} bytes")
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status, headers, bytes(body))

    def _open(self) -> aiohttp.ClientSession:
        # No cookies and nothing of the environment: what a request carries is what its sender says.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._connections, socket_factory=self._factory),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            trust_env=False,
        )
        return self._session


def _guarded(allows: Callable[[str], bool]) -> SocketFactoryType:
    def make(info: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = info
        if not allows(str(address[0])):
            raise OSError(errno.EACCES, "the address may not be called")
        return socket.socket(family, kind, protocol)

    return make


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2] or "the address"
