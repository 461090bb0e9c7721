"""Carries requests to a Kubernetes API over HTTP: pooled connections, the endpoint's trust and credential.

Promises: redirects are not followed, so a credential goes to the server of the endpoint and to no other; a credential
that was refused is shown once more if it can be renewed; every wait has an end; whatever keeps an answer from arriving
is an `UnreachableError`. Requests share a bounded pool and wait for their turn in it; streams have one of their own,
so that watches cannot starve requests. What the server warns of is handed to `on_warning` as it comes.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from homeostat import __version__
from homeostat.client.auth import Credential, Shown, credential_of
from homeostat.client.base import Response, UnreachableError
from homeostat.client.endpoint import Endpoint
from homeostat.client.lines import split_lines
from homeostat.client.proxies import proxy_of
from homeostat.client.retries import parse_retry_after
from homeostat.client.tls import Trust
from homeostat.client.unreachable import reason_of

__all__ = ["HttpTransport", "UnreachableError", "open_transport"]

_CONNECT_S = 10.0
_ANSWER_S = 75.0
_UNAUTHORIZED = 401
_WARNING = re.compile(r'\s*299 \S+ "((?:[^"\\]|\\.)*)"')


class HttpTransport:
    """Implements `Transport`; made by `open_transport`."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        requests: aiohttp.ClientSession,
        streams: aiohttp.ClientSession,
        trust: Trust,
        credential: Credential,
        on_warning: Callable[[str], None],
    ) -> None:
        self._requests, self._streams = requests, streams
        self._server = endpoint.server
        self._tls_name = endpoint.tls_server_name or None
        self._proxy = proxy_of(endpoint) or None
        self._impersonation = endpoint.impersonation
        self._trust, self._credential = trust, credential
        self._on_warning = on_warning

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        async def attempt(shown: Shown) -> Response:
            headers = self._headers(shown, accept, content_type)
            async with await self._ask(self._requests, method, self._url(path, query), shown, headers, body) as answer:
                return await self._response(answer)

        shown = await self._credential.show()
        response = await attempt(shown)
        if response.status == _UNAUTHORIZED:
            renewed = await self._credential.show(refused=shown)
            if renewed != shown:
                return await attempt(renewed)
        return response

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        async def attempt(shown: Shown) -> Response | aiohttp.ClientResponse:
            headers = self._headers(shown, accept)
            answer = await self._ask(self._streams, "GET", self._url(path, query), shown, headers)
            if answer.status == 200:
                return answer
            async with answer:
                return await self._response(answer)

        shown = await self._credential.show()
        answer = await attempt(shown)
        if isinstance(answer, Response) and answer.status == _UNAUTHORIZED:
            renewed = await self._credential.show(refused=shown)
            if renewed != shown:
                answer = await attempt(renewed)
        if isinstance(answer, Response):
            return answer
        self._warn(answer)
        return self._lines(answer)

    def _headers(self, shown: Shown, accept: str, content_type: str = "") -> CIMultiDict[str]:
        headers = CIMultiDict({"Accept": accept or "application/json"})
        if content_type:
            headers["Content-Type"] = content_type
        if shown.token:
            headers["Authorization"] = f"Bearer {shown.token}"
        headers.extend(self._impersonation)
        return headers

    async def _ask(
        self,
        session: aiohttp.ClientSession,
        method: str,
        url: URL,
        shown: Shown,
        headers: CIMultiDict[str],
        body: bytes = b"",
    ) -> aiohttp.ClientResponse:
        try:
            return await session.request(
                method,
                url,
                data=body or None,
                headers=headers,
                allow_redirects=False,
                server_hostname=self._tls_name,
                proxy=self._proxy,
                # Connections are pooled by their context: one made with a former certificate is not used again.
                ssl=await self._trust.context(shown.certificate, shown.key),
            )
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable(error) from error

    async def _response(self, answer: aiohttp.ClientResponse) -> Response:
        self._warn(answer)
        try:
            body = await answer.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable(error) from error
        if answer.status < 300 and answer.content_type != "application/json":
            raise UnreachableError(f"{self._server} does not speak the Kubernetes API: it sent {answer.content_type}")
        return Response(answer.status, body, parse_retry_after(answer.headers.get("Retry-After")))

    async def _lines(self, answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        try:
            async for line in split_lines(answer.content.iter_any()):
                yield line
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable(error) from error
        finally:
            _hang_up(answer)

    def _url(self, path: str, query: str) -> URL:
        return URL(f"{self._server}{path}?{query}" if query else f"{self._server}{path}", encoded=True)

    def _warn(self, answer: aiohttp.ClientResponse) -> None:
        for header in answer.headers.getall("Warning", []):
            for text in _WARNING.findall(header):
                self._on_warning(re.sub(r"\\(.)", r"\1", text))

    def _unreachable(self, error: Exception) -> UnreachableError:
        was_sent = not isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
        return UnreachableError(f"cannot reach {self._server}: {reason_of(error)}", was_sent=was_sent)


def _hang_up(answer: aiohttp.ClientResponse) -> None:
    """Leaves a stream without the farewell of TLS, for which a server that has gone silent is waited for."""
    connection = answer.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    answer.close()


@asynccontextmanager
async def open_transport(
    endpoint: Endpoint,
    *,
    silence_s: float = 330.0,
    answer_s: float = _ANSWER_S,
    connections: int = 64,
    on_warning: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[HttpTransport]:
    """A transport to the endpoint. A stream that says nothing for `silence_s` is given up."""
    agent = {"User-Agent": f"homeostat/{__version__}"}
    trust = Trust(endpoint)
    async with (
        aiohttp.ClientSession(
            headers=agent,
            connector=aiohttp.TCPConnector(limit=connections),
            timeout=aiohttp.ClientTimeout(total=answer_s, sock_connect=_CONNECT_S),
        ) as requests,
        aiohttp.ClientSession(
            headers=agent,
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=silence_s),
        ) as streams,
    ):
        yield HttpTransport(
            endpoint,
            requests=requests,
            streams=streams,
            trust=trust,
            credential=credential_of(endpoint),
            on_warning=on_warning,
        )
