"""One HTTP exchange with a system outside, bounded in time and size, and honest about what may have happened.

The one question that matters after a failure is whether the other side acted: `NotSentError` says that it did not,
`AnswerLostError` that nobody knows. Redirects are answers like any other: whoever follows one decides what to send.
Errors name the host and never the URL, which may hold credentials.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

import aiohttp
from aiohttp.abc import AbstractResolver

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

    `resolver` finds the addresses of names; it is not asked for what is an address already.
    """

    def __init__(
        self, *, tls: ssl.SSLContext | None = None, connections: int = 100, resolver: AbstractResolver | None = None
    ) -> None:
        self._tls, self._connections, self._resolver = tls, connections, resolver
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
            connector=aiohttp.TCPConnector(limit=self._connections, resolver=self._resolver),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            trust_env=False,
        )
        return self._session


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2] or "the address"
