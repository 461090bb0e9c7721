"""Carries requests to a Kubernetes API over HTTP: one pooled session, the endpoint's trust and credential.

Promises: redirects are not followed, so a credential goes to the server of the kubeconfig and to no other; every wait
has an end; whatever keeps an answer from arriving is an `UnreachableError`. What the server warns of is handed to
`on_warning` as it comes.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
from yarl import URL

from homeostat import __version__
from homeostat.client.base import Response
from homeostat.client.kubeconfig import Endpoint, KubeconfigError

_CONNECT_S = 10.0
_ANSWER_S = 75.0
_WARNING = re.compile(r'\s*299 \S+ "((?:[^"\\]|\\.)*)"')


class UnreachableError(Exception):
    """No answer: nobody listens, nobody is trusted, or the connection broke."""


class HttpTransport:
    """Implements `Transport`; made by `open_transport`."""

    def __init__(
        self, session: aiohttp.ClientSession, endpoint: Endpoint, *, silence_s: float, on_warning: Callable[[str], None]
    ) -> None:
        self._session = session
        self._server = endpoint.server
        self._tls_name = endpoint.tls_server_name or None
        self._stream_timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=silence_s)
        self._on_warning = on_warning

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        headers = {"Accept": accept or "application/json"}
        if content_type:
            headers["Content-Type"] = content_type
        url = self._url(path, query)
        try:
            async with self._session.request(
                method,
                url,
                data=body or None,
                headers=headers,
                allow_redirects=False,
                server_hostname=self._tls_name,
            ) as answer:
                self._warn(answer)
                response = Response(answer.status, await answer.read())
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable(error) from error
        if response.status < 300 and answer.content_type != "application/json":
            raise UnreachableError(f"{self._server} does not speak the Kubernetes API: it sent {answer.content_type}")
        return response

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        headers = {"Accept": accept or "application/json"}
        try:
            answer = await self._session.get(
                self._url(path, query),
                headers=headers,
                allow_redirects=False,
                server_hostname=self._tls_name,
                timeout=self._stream_timeout,
            )
            if answer.status != 200:
                async with answer:
                    return Response(answer.status, await answer.read())
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable(error) from error
        self._warn(answer)
        return self._lines(answer)

    async def _lines(self, answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        # The reader's own readline gives up at 128 KiB, and an object may be larger.
        rest: list[bytes] = []
        try:
            async for chunk in answer.content.iter_any():
                head, *lines = chunk.split(b"\n")
                rest.append(head)
                for line in lines:
                    if whole := b"".join(rest):
                        yield whole
                    rest = [line]
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable(error) from error
        finally:
            answer.close()

    def _url(self, path: str, query: str) -> URL:
        return URL(f"{self._server}{path}?{query}" if query else f"{self._server}{path}", encoded=True)

    def _warn(self, answer: aiohttp.ClientResponse) -> None:
        for header in answer.headers.getall("Warning", []):
            for text in _WARNING.findall(header):
                self._on_warning(re.sub(r"\\(.)", r"\1", text))

    def _unreachable(self, error: Exception) -> UnreachableError:
        match error:
            case aiohttp.ClientConnectorCertificateError():
                reason = f"its certificate is not trusted: {error.certificate_error}"
            case aiohttp.ClientConnectorError():
                number = error.os_error.errno
                reason = os.strerror(number) if number and number > 0 else str(error.os_error)
            case TimeoutError():
                reason = "no answer in time"
            case _:
                reason = str(error) or type(error).__name__
        return UnreachableError(f"cannot reach {self._server}: {reason}")


@asynccontextmanager
async def open_transport(
    endpoint: Endpoint, *, silence_s: float = 330.0, on_warning: Callable[[str], None] = lambda _: None
) -> AsyncIterator[HttpTransport]:
    """A transport to the endpoint. A stream that says nothing for `silence_s` is given up."""
    headers = {"User-Agent": f"homeostat/{__version__}"}
    if endpoint.token:
        headers["Authorization"] = f"Bearer {endpoint.token}"
    async with aiohttp.ClientSession(
        headers=headers,
        connector=aiohttp.TCPConnector(ssl=_trust(endpoint) if endpoint.server.startswith("https:") else False),
        timeout=aiohttp.ClientTimeout(total=_ANSWER_S, sock_connect=_CONNECT_S),
    ) as session:
        yield HttpTransport(session, endpoint, silence_s=silence_s, on_warning=on_warning)


def _trust(endpoint: Endpoint) -> ssl.SSLContext:
    try:
        authority = endpoint.authority.decode("ascii") if endpoint.authority else None
        context = ssl.create_default_context(cadata=authority)
        if endpoint.certificate is not None and endpoint.key is not None:
            _show(context, endpoint.certificate, endpoint.key)
    except (ssl.SSLError, ValueError) as error:
        raise KubeconfigError(f"the kubeconfig's certificate for {endpoint.server} cannot be used: {error}") from error
    if not endpoint.is_verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _show(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    # OpenSSL's binding takes a client's certificate from files alone.
    with TemporaryDirectory(prefix="homeostat-") as directory:
        chain = Path(directory) / "client.pem"
        chain.touch(mode=0o600)
        chain.write_bytes(certificate.rstrip() + b"\n" + key)
        context.load_cert_chain(chain)
