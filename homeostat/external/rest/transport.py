"""One HTTP exchange on aiohttp, bounded in time and size.

aiohttp's errors become those of `errors.py` here and nowhere else. Addresses are checked where sockets are created,
which is after DNS resolution. A proxy resolves names itself and applies its own rules. The proxy may be on a private
network, but objects can declare proxies too, so link-local addresses and metadata services are refused for it as well.

aiohttp is imported with the first request: it is half of the start-up of a command that sends none.
"""

from __future__ import annotations

import errno
import io
import os
import re
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from homeostat.edge.imports import import_in_thread
from homeostat.external.addresses import RefusedAddressError, UrlError, check_url, refusal_of
from homeostat.external.rest.errors import (
    AddressRefusedError,
    InvalidResponseError,
    NotSentError,
    ResponseLostError,
    ResponseTooLargeError,
    RestError,
)
from homeostat.external.rest.request import Request, Response, StreamedBody, origin_of
from homeostat.external.rest.settings import RestSettings
from homeostat.external.rest.tls import TlsContexts
from homeostat.external.secrets.credentials import BasicAuth

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.abc import AbstractResolver

_CHUNK: Final = 1 << 16
_LARGE_BODY: Final = 1 << 20
_MOST_HEADERS: Final = 100
_FIRST_LINE: Final = 8 << 10
# A line break would split a header in two. A tab is allowed.
_breaks = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]").search


class Progress:
    """How far a request got; `is_sent` is set once its first byte may have left."""

    __slots__ = ("is_sent", "origin")

    def __init__(self) -> None:
        self.is_sent = False
        self.origin: tuple[str, str, int] | None = None


class Opened:
    """A response whose body has not been read yet. `close` it."""

    def __init__(self, response: aiohttp.ClientResponse, request: Request) -> None:
        self._response, self._request = response, request
        self.status = response.status
        self.headers = _headers(response)

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    async def chunks(self) -> AsyncIterator[bytes]:
        size = 0
        with _mapped(self._request, lambda: True):
            async for chunk in self._response.content.iter_chunked(_CHUNK):
                size += len(chunk)
                if size > self._request.largest:
                    raise ResponseTooLargeError(
                        f"expected at most {self._request.largest} bytes, and more were sent", host=self._request.host
                    )
                yield chunk

    async def read(self) -> Response:
        try:
            body = b"".join([chunk async for chunk in self.chunks()])
        except BaseException:
            self.close()
            raise
        return Response(self.status, self.headers, body)

    def close(self) -> None:
        """A body that was not read to its end closes the connection."""
        self._response.close()


class Transport:
    def __init__(self, settings: RestSettings, resolver: AbstractResolver | None = None) -> None:
        self._settings, self._resolver = settings, resolver
        self._contexts = TlsContexts()
        self._direct: aiohttp.ClientSession | None = None
        self._proxied: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        sessions = (self._direct, self._proxied)
        self._direct = self._proxied = None
        for session in sessions:
            if session is not None:
                await session.close()

    async def open(self, request: Request, progress: Progress) -> Opened:
        try:
            check_url(request.url, allows_private=self._settings.allows_private)
            scheme, host, _ = origin_of(request.url)
        except UrlError as error:
            raise AddressRefusedError(str(error), host=request.host) from error
        if any(_breaks(name) or _breaks(value) for name, value in request.headers.items()):
            raise NotSentError("the request cannot be sent: a header has a control character", host=request.host)
        tls = await self._contexts.get(request.tls or self._settings.tls, is_anonymous=request.is_anonymous)
        proxy = self._settings.proxies.proxy_for(scheme, host)
        await import_in_thread("homeostat.edge.responses")
        session = self._session(is_proxied=bool(proxy))
        routed = _routed(request.headers, scheme, proxy)
        if isinstance(request.body, StreamedBody) and request.body.length is not None:
            routed["headers"] = {**routed["headers"], "Content-Length": str(request.body.length)}
        with _mapped(request, lambda: progress.is_sent):
            response = await session.request(
                request.method,
                request.url,
                data=_payload(request.body),
                allow_redirects=False,
                ssl=tls or True,
                trace_request_ctx=progress,
                **routed,
            )
        return Opened(response, request)

    def _session(self, *, is_proxied: bool) -> aiohttp.ClientSession:
        # Created at the first use, because a client may be constructed where no event loop runs.
        if is_proxied:
            self._proxied = self._proxied or self._opened(_make_proxy_socket)
            return self._proxied
        self._direct = self._direct or self._opened(self._make_socket)
        return self._direct

    def _opened(self, factory: Callable[[Any], socket.socket]) -> aiohttp.ClientSession:
        import aiohttp

        from homeostat.edge.responses import PacedConnector

        settings = self._settings
        tracing = aiohttp.TraceConfig()
        tracing.on_request_headers_sent.append(_note_sent)
        # No cookies, and no settings from the environment: a request carries only what its sender says.
        return aiohttp.ClientSession(
            connector=PacedConnector(
                limit=settings.connections,
                limit_per_host=settings.connections_per_host,
                resolver=self._resolver,
                socket_factory=factory,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=settings.connect_s),
            trust_env=False,
            headers={"User-Agent": "homeostat"},
            trace_configs=[tracing],
            max_line_size=_FIRST_LINE,
            max_field_size=settings.header_bytes,
            max_headers=_MOST_HEADERS,
        )

    def _make_socket(self, info: aiohttp.AddrInfoType) -> socket.socket:
        return _judged_socket(info, allows_private=self._settings.allows_private)


def _make_proxy_socket(info: aiohttp.AddrInfoType) -> socket.socket:
    return _judged_socket(info, allows_private=True)


def _judged_socket(info: aiohttp.AddrInfoType, *, allows_private: bool) -> socket.socket:
    family, kind, protocol, _, address = info
    if refusal_of(str(address[0]), allows_private=allows_private):
        raise RefusedAddressError(errno.EACCES, "requests to this address are not allowed")
    return socket.socket(family, kind, protocol)


async def _note_sent(_: aiohttp.ClientSession, context: SimpleNamespace, __: object) -> None:
    progress: Progress = context.trace_request_ctx
    progress.is_sent = True


def _routed(headers: Mapping[str, str], scheme: str, proxy: str) -> dict[str, Any]:
    if not proxy:
        return {"headers": headers}
    parts = urlsplit(proxy)
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    if parts.username is None:
        return {"headers": headers, "proxy": bare}
    login = BasicAuth(unquote(parts.username), unquote(parts.password or ""))
    shown = {"Proxy-Authorization": login.header}
    if scheme == "https":
        # With the CONNECT request only: inside the tunnel is the target server.
        return {"headers": headers, "proxy": bare, "proxy_headers": shown}
    return {"headers": {**headers, **shown}, "proxy": bare}


def _payload(body: bytes | StreamedBody | None) -> bytes | io.BytesIO | AsyncIterator[bytes] | None:
    if isinstance(body, StreamedBody):
        return body.open()
    # aiohttp writes bytes in one piece, which blocks the event loop if they are many.
    return io.BytesIO(body) if body is not None and len(body) > _LARGE_BODY else body


def _headers(response: aiohttp.ClientResponse) -> Mapping[str, str]:
    headers: dict[str, str] = {}
    for name, value in response.headers.items():
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


@contextmanager
def _mapped(request: Request, is_sent: Callable[[], bool]) -> Any:
    import aiohttp

    host = request.host
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise NotSentError("cannot connect: timed out", host=host, advice="check that the host is reachable") from error
    except (aiohttp.ClientConnectorError, aiohttp.ClientHttpProxyError) as error:
        raise _not_connected(host, error) from error
    except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError):
        # The texts of these two hold the URL.
        raise NotSentError("invalid URL", host=host, advice="expected http:// or https:// and a host") from None
    except aiohttp.ClientResponseError as error:
        raise _unreadable(host, error) from None
    except (aiohttp.ClientError, OSError) as error:
        kind = ResponseLostError if is_sent() else NotSentError
        raise kind(f"the connection broke: {type(error).__name__}", host=host) from error
    except ValueError as error:
        if is_sent():
            raise InvalidResponseError("the response is not valid HTTP", host=host) from error
        problem = "the request cannot be sent: its method, URL or headers are invalid"
        raise NotSentError(problem, host=host) from error


def _not_connected(host: str, error: aiohttp.ClientError) -> RestError:
    import aiohttp

    match error:
        case aiohttp.ClientConnectorError(os_error=RefusedAddressError()):
            which = (
                "the address of its proxy" if isinstance(error, aiohttp.ClientProxyConnectionError) else "its address"
            )
            return AddressRefusedError(f"{which} may not be called", host=host, advice="link-local ones never may")
        case aiohttp.ClientHttpProxyError(status=status):
            return NotSentError(
                f"the proxy refused to connect: HTTP {status}", host=host, advice="check the proxy's rules"
            )
        case aiohttp.ClientProxyConnectionError():
            return NotSentError("cannot connect to the proxy", host=host, advice="check HTTP_PROXY and HTTPS_PROXY")
        case aiohttp.ClientConnectorCertificateError(certificate_error=ssl.SSLCertVerificationError() as cause):
            problem = f"its certificate is not trusted: {cause.verify_message}"
            return NotSentError(problem, host=host, advice="give its authority")
        case aiohttp.ClientConnectorDNSError():
            return NotSentError("cannot connect: the name cannot be resolved", host=host, advice="check the URL")
        case aiohttp.ClientSSLError():
            problem = "cannot connect: the TLS handshake failed"
            return NotSentError(problem, host=host, advice="check certificate and protocol")
        case aiohttp.ClientConnectorError():
            # asyncio replaces the text of the error by one with the address.
            number = error.os_error.errno
            why = os.strerror(number) if number else error.os_error.strerror or type(error.os_error).__name__
            advice = "check that the server is running and reachable"
            return NotSentError(f"cannot connect: {why}", host=host, advice=advice)
    return NotSentError("cannot connect", host=host)


def _unreadable(host: str, error: aiohttp.ClientResponseError) -> RestError:
    causes = {type(each).__name__ for each in _causes(error)}
    if "LineTooLong" in causes:
        return ResponseTooLargeError("a header of the response is too long", host=host)
    if "TooManyInterimError" in causes:
        return InvalidResponseError("it sent only interim responses, and too many of them", host=host)
    if error.message == "Too many headers received":
        return ResponseTooLargeError(f"the response has more than {_MOST_HEADERS} headers", host=host)
    return InvalidResponseError("the response is not valid HTTP", host=host)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and all that led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
