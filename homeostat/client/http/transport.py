"""The HTTP transport to a Kubernetes API: pooled connections, TLS and credentials of the endpoint.

Promises: redirects are not followed, so a credential is sent to the server of the endpoint only; after a 401 the
request is repeated once if the credential can be renewed; every wait has a timeout; a missing answer is an
`UnreachableError`. Requests share a bounded pool; a stream has its own connection, so that watches cannot starve
requests. Warnings of the server are passed to `on_warning`. Answers are not compressed, because between a controller
and its server CPU time is scarcer than bandwidth. HEAD is not supported.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from homeostat import __version__
from homeostat.client.base import ANY, Response, UnreachableError
from homeostat.client.endpoint.auth import Shown, credential_of
from homeostat.client.endpoint.endpoint import Endpoint
from homeostat.client.http.connection import Connection, Head
from homeostat.client.http.dialer import Dialer, DialError
from homeostat.client.http.lines import split_lines
from homeostat.client.http.pool import Pool
from homeostat.client.http.proxies import proxy_of
from homeostat.client.http.retries import parse_retry_after
from homeostat.client.http.tls import Trust
from homeostat.client.http.unreachable import reason_of
from homeostat.objects.errors import BadRequestError

__all__ = ["HttpTransport", "UnreachableError", "open_transport"]

_ANSWER_S = 75.0
_UNAUTHORIZED = 401
_JSON = "application/json"
_MOST_HEADS = 64
_MOST_REFUSAL = 1 << 20
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_WARNING = re.compile(r'\s*299 \S+ "((?:[^"\\]|\\.)*)"')
_is_target = re.compile(r"/[!-~]*").fullmatch
_is_name = re.compile(r"[!#-'*+.^-z|~0-9A-Z-]+").fullmatch
_is_value = re.compile(r"[\t -~\x80-\xff]*").fullmatch


class HttpTransport:
    """Implements `Transport`; created by `open_transport`."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        dialer: Dialer,
        pool: Pool,
        answer_s: float,
        silence_s: float,
        on_warning: Callable[[str], None],
        trust: Trust | None = None,
    ) -> None:
        self._endpoint, self._answer_s = endpoint, answer_s
        self._server, self._impersonation = dialer.address, endpoint.impersonation
        self._dialer, self._pool = dialer, pool
        self._trust, self._credential = trust or Trust(endpoint), credential_of(endpoint)
        self._bare: Trust | None = None
        self._opened_s, self._silence_s, self._on_warning = min(answer_s, silence_s), silence_s, on_warning
        self._heads: dict[tuple[str, str, str], str] = {}

    def bearing(self, token: str) -> HttpTransport:
        """A transport to the same server with this token and no other credentials."""
        endpoint = replace(
            self._endpoint, token=token, token_file=None, certificate=None, key=None, plugin=None, impersonation=()
        )
        if self._bare is None:
            # A connection that was opened with a client certificate belongs to its user, whatever the token says. The
            # pool does not use a connection of another context.
            has_certificate = self._endpoint.certificate is not None or self._endpoint.plugin is not None
            self._bare = Trust(endpoint) if has_certificate else self._trust
        return HttpTransport(
            endpoint,
            trust=self._bare,
            dialer=self._dialer,
            pool=self._pool,
            answer_s=self._answer_s,
            silence_s=self._silence_s,
            on_warning=self._on_warning,
        )

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        target = _target(path, query)
        shown = await self._credential.show()
        response = await self._ask(method, target, shown, accept, content_type, body)
        if response.status == _UNAUTHORIZED:
            renewed = await self._credential.show(refused=shown)
            if renewed != shown:
                return await self._ask(method, target, renewed, accept, content_type, body)
        return response

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        target = _target(path, query)
        shown = await self._credential.show()
        answer = await self._open(target, shown, accept)
        if isinstance(answer, Response) and answer.status == _UNAUTHORIZED:
            renewed = await self._credential.show(refused=shown)
            if renewed != shown:
                answer = await self._open(target, renewed, accept)
        return answer if isinstance(answer, Response) else self._lines(answer)

    async def _ask(
        self, method: str, target: str, shown: Shown, accept: str, content_type: str, body: bytes
    ) -> Response:
        request = self._request(method, target, shown, accept, content_type, body)
        try:
            head, answer = await self._pool.ask(request, await self._context(shown))
        except (OSError, DialError) as error:
            raise self._unreachable(error) from error
        return self._response(head, answer, accept)

    async def _open(self, target: str, shown: Shown, accept: str) -> Response | Connection:
        request = self._request("GET", target, shown, accept)
        connection: Connection | None = None
        try:
            connection = await self._dialer.dial(await self._context(shown))
            async with asyncio.timeout(self._opened_s):
                head = await connection.open(request)
                if head.status != 200:
                    body = await connection.rest(_MOST_REFUSAL)
                    await connection.close()
                    return self._response(head, body)
        except BaseException as error:
            if connection is not None:
                connection.abort()
            if isinstance(error, OSError | DialError):
                raise self._unreachable(error) from error
            raise
        self._warn(head)
        return connection

    async def _lines(self, connection: Connection) -> AsyncIterator[bytes]:
        try:
            with connection.given_up_after(self._silence_s):
                async for line in split_lines(connection.pieces()):
                    yield line
        except OSError as error:
            raise self._unreachable(error) from error
        finally:
            await connection.close()

    def _request(
        self, method: str, target: str, shown: Shown, accept: str, content_type: str = "", body: bytes = b""
    ) -> bytes:
        if method not in _METHODS:
            raise BadRequestError(f"method {method!r} is not supported")
        key = (accept, content_type, shown.token)
        head = self._heads.get(key) or self._head(key)
        length = "" if method == "GET" and not body else f"Content-Length: {len(body)}\r\n"
        return f"{method} {self._dialer.prefix}{target} HTTP/1.1\r\n{head}{length}\r\n".encode("latin-1") + body

    def _head(self, key: tuple[str, str, str]) -> str:
        accept, content_type, token = key
        fields = [("Host", self._dialer.host), ("User-Agent", f"homeostat/{__version__}"), ("Accept", accept or _JSON)]
        if content_type:
            fields.append(("Content-Type", content_type))
        if token:
            fields.append(("Authorization", f"Bearer {token}"))
        fields += self._impersonation
        for name, value in fields:
            if _is_name(name) is None or _is_value(value) is None:
                raise BadRequestError(f"the header {name!r} would have characters that HTTP cannot carry")
        head = "".join(f"{name}: {value}\r\n" for name, value in fields) + self._dialer.headers
        if len(self._heads) >= _MOST_HEADS:
            self._heads.clear()
        self._heads[key] = head
        return head

    async def _context(self, shown: Shown) -> ssl.SSLContext | None:
        return await self._trust.context(shown.certificate, shown.key)

    def _response(self, head: Head, body: bytes, accept: str = "") -> Response:
        self._warn(head)
        if head.status < 300:
            sent = head.get(b"content-type") or ""
            # Health and metrics are text; whoever reads them asks for it.
            if sent != _JSON and accept != ANY and sent.partition(";")[0].strip() not in (_JSON, accept):
                raise UnreachableError(f"{self._server} does not speak the Kubernetes API: it sent {sent or 'no type'}")
        return Response(head.status, body, parse_retry_after(head.get(b"retry-after")))

    def _warn(self, head: Head) -> None:
        if warnings := head.get(b"warning"):
            for text in _WARNING.findall(warnings):
                self._on_warning(re.sub(r"\\(.)", r"\1", text))

    def _unreachable(self, error: Exception) -> UnreachableError:
        was_sent = not isinstance(error, DialError)
        return UnreachableError(f"cannot reach {self._server}: {reason_of(error)}", was_sent=was_sent)


def _target(path: str, query: str) -> str:
    target = f"{path}?{query}" if query else path
    if _is_target(target) is None:
        raise BadRequestError(f"{target!r} is not a path that HTTP can carry; what is in it must be percent-encoded")
    return target


@asynccontextmanager
async def open_transport(
    endpoint: Endpoint,
    *,
    silence_s: float = 330.0,
    answer_s: float = _ANSWER_S,
    connections: int = 64,
    on_warning: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[HttpTransport]:
    """A transport to the endpoint. A stream without data for `silence_s` is closed."""
    dialer = Dialer(endpoint.server, tls_name=endpoint.tls_server_name, proxy=proxy_of(endpoint))
    pool = Pool(dialer, connections=connections, answer_s=answer_s)
    try:
        yield HttpTransport(
            endpoint, dialer=dialer, pool=pool, answer_s=answer_s, silence_s=silence_s, on_warning=on_warning
        )
    finally:
        await pool.close()
