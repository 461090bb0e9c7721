"""Requests to a managed server: calls of the engine in, payloads out.

Statuses become the engine's errors. An error repeats at most a few hundred characters of the answer, without any secret
that this session knows.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode, urlsplit

from homeostat.external.rest.auth import OAuth2
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.errors import ResponseTooLargeError, RestError, TlsInvalidError, TokenError
from homeostat.external.rest.links import parse_links
from homeostat.external.rest.oauth2 import OAuth2Tokens
from homeostat.external.rest.rate import RatePolicy
from homeostat.external.rest.redirects import redirected
from homeostat.external.rest.request import Request, Response, origin_of
from homeostat.external.rest.retry import RetryPolicy, retry_after_s
from homeostat.external.rest.settings import RestSettings
from homeostat.external.secrets.scrub import Scrubber
from homeostat.objects.json import Json
from homeostat.operators.sync.engine.errors import (
    LONGEST_SHOWN,
    AuthError,
    ConflictError,
    SyncError,
    TransportError,
    ValidationError,
    from_status,
)
from homeostat.operators.sync.engine.lists.paging import Page, check_new, first_page, next_page
from homeostat.operators.sync.engine.metadata.call import Call
from homeostat.operators.sync.engine.metadata.rules import Pagination
from homeostat.operators.sync.engine.payload.codec import Payload, decode, encode
from homeostat.operators.sync.engine.payload.format import BINARY, JSON, Descriptor, by_media
from homeostat.operators.sync.offload import computed
from homeostat.operators.sync.server.settings import CONCURRENT, ServerSettings, Throttle

LARGEST_RESPONSE: Final = 64 << 20
"""Bytes of one answer, a list included."""
_RETRY: Final = RetryPolicy(attempts=4, retries_refused=True)
_REDIRECTS: Final = 3
_DECODED_AT_ONCE: Final = 64 << 10
"""Bytes; the answer is decoded in a thread if it has more, as lists have."""
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    payload: Payload = field(repr=False)
    etag: str = ""
    location: str = ""
    link: str | None = None
    is_empty: bool = False
    """Whether it has no body."""


class ManagedServer:
    """`close` it."""

    def __init__(self, settings: ServerSettings, scrubber: Scrubber) -> None:
        self.settings, self._scrubber = settings, scrubber
        throttle = settings.throttle
        self._http = RestClient(
            RestSettings(
                tls=settings.tls,
                proxies=settings.proxies,
                connections_per_host=throttle.concurrent or CONCURRENT,
                retry=_RETRY,
                rate=_rate(throttle),
            )
        )
        self._turns = asyncio.Semaphore(throttle.concurrent) if throttle.concurrent else None
        self._waiting = 0
        self.trace: Callable[[Request, Response, bool], None] | None = None
        """Is called with each request, its answer, and whether their bodies are secret."""

    async def close(self) -> None:
        await self._http.close()

    @property
    def base(self) -> str:
        return self.settings.url.rstrip("/")

    def url(self, call: Call) -> str:
        query = f"?{urlencode(call.query)}" if call.query else ""
        return f"{self.base}{call.target}{query}"

    async def ask(
        self, call: Call, *, expected: Descriptor = JSON, accept: str = "", body: Payload | None = None
    ) -> Answer:
        """The answer of a success; the engine's error for any other."""
        headers = {**self.settings.headers, **call.headers}
        names = {each.lower() for each in headers}
        if accept and "accept" not in names:
            headers["Accept"] = accept
        data = None
        if body is not None:
            data = await computed(lambda: encode(body.value, body.form, is_compact=True), body.value)
            if "content-type" not in names:
                headers["Content-Type"] = body.form.media
        return await self.send(
            call.method, self.url(call), headers=headers, data=data, expected=expected, is_secret=call.is_secret
        )

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: dict[str, str],
        data: bytes | None = None,
        expected: Descriptor = JSON,
        is_secret: bool = False,
    ) -> Answer:
        request = Request(
            method,
            url,
            headers=headers,
            body=data,
            auth=self.settings.auth,
            timeout_s=self.settings.timeout_s,
            largest=LARGEST_RESPONSE,
        )
        label = f"{method} {urlsplit(url).path or '/'}"
        async with self._turn():
            try:
                response = await self._followed(request)
            except (TokenError, TlsInvalidError) as error:
                raise AuthError(self._scrubber.scrub(f"{label}: {error}")) from error
            except ResponseTooLargeError as error:
                raise ValidationError(f"{label}: the answer is larger than {LARGEST_RESPONSE} bytes") from error
            except RestError as error:
                raise TransportError(self._scrubber.scrub(f"{label}: {error}")) from error
        if self.trace is not None:
            self.trace(request, response, is_secret)
        if len(response.body) > _DECODED_AT_ONCE:
            return await asyncio.to_thread(self._answered, label, response, expected)
        return self._answered(label, response, expected)

    async def _followed(self, request: Request) -> Response:
        """The answer of a read after redirects within the server; one that leads elsewhere is returned as it is."""
        response = await self._http.send(request)
        for _ in range(_REDIRECTS if request.method in _SAFE else 0):
            target = redirected(request, response.status, response.headers)
            if target is None or origin_of(target.url) != origin_of(request.url):
                break
            request = target
            response = await self._http.send(request)
        return response

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        if self._turns is None:
            yield
            return
        queue = self.settings.throttle.queue
        if queue and self._turns.locked() and self._waiting >= queue:
            raise ConflictError(f"{queue} requests wait already; requestThrottling.queueSize allows no more")
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._turns.release()

    def _answered(self, label: str, response: Response, expected: Descriptor) -> Answer:
        if not response.is_success:
            raise self._error(label, response)
        try:
            payload = read_body(response.body, response.headers.get("content-type", ""), expected)
        except SyncError as error:
            raise type(error)(f"{label}: {error}") from error
        return Answer(
            response.status,
            payload,
            response.headers.get("etag", ""),
            response.headers.get("location", ""),
            parse_links(response.headers.get("link", "")).get("next"),
            not response.body,
        )

    def _error(self, label: str, response: Response) -> SyncError:
        text = " ".join(self._scrubber.scrub(response.body[:4096].decode(errors="replace")).split())
        shown = f": {text[:LONGEST_SHOWN]}" if text else ""
        if 300 <= response.status < 400:
            return TransportError(
                f"{label}: HTTP {response.status}: the server redirects to another address; check its URL"
            )
        if response.status == 412:
            return ConflictError(f"{label}: HTTP 412: the object was changed meanwhile{shown}")
        error = from_status(response.status, f"{label}: HTTP {response.status}{shown}")
        error.status, error.retry_after_s = response.status, retry_after_s(response.headers, time.time())
        return error

    async def check_health(self) -> None:
        """A GET of the health check, or of the server's address; the engine's error unless it succeeds."""
        where = self.settings.health_check or "/"
        url = where if "://" in where else f"{self.base}/{where.lstrip('/')}"
        await self.send("GET", url, headers=dict(self.settings.headers))

    async def pages(self, call: Call, paging: Pagination | None, *, accept: str = "") -> AsyncIterator[Json]:
        """The values of all pages of a list."""
        headers = {**self.settings.headers, **call.headers}
        if accept:
            headers.setdefault("Accept", accept)
        page: Page | None = first_page(Page(f"{self.base}{call.target}", call.query), paging)
        seen = set[object]()
        while page is not None:
            check_new(seen, page)
            query = f"?{urlencode(page.query)}" if page.query else ""
            answer = await self.send(call.method, f"{page.url}{query}", headers=headers, is_secret=call.is_secret)
            value = answer.payload.value
            if answer.is_empty and answer.status != 204:
                raise TransportError(f"{call.method} {call.path}: the server answered nothing; expected a list")
            if answer.payload.form.extension in (".html", ".htm"):
                raise TransportError(f"{call.method} {call.path}: the server answered with a page; expected a list")
            yield value
            page = next_page(page, value, _count(value), answer.link, paging)

    async def token(self) -> str:
        """The access token that requests carry."""
        if not isinstance(self.settings.auth, OAuth2):
            raise ValidationError("the server is not configured with oauth2; there is no access token")
        try:
            return await OAuth2Tokens(self._http.send, asyncio.get_running_loop().time).get(self.settings.auth)
        except TokenError as error:
            raise AuthError(self._scrubber.scrub(str(error))) from error
        except RestError as error:
            raise TransportError(self._scrubber.scrub(str(error))) from error


def _rate(throttle: Throttle) -> RatePolicy | None:
    if not throttle.per_s:
        return None
    return RatePolicy(per_s=throttle.per_s, burst=throttle.burst or max(int(throttle.per_s), 1))


def _count(value: Json) -> int:
    if isinstance(value, dict):
        value = next((each for each in value.values() if isinstance(each, list)), [])
    return len(value) if isinstance(value, list) else 0


def read_body(data: bytes, media: str, expected: Descriptor) -> Payload:
    """The form is that of the media type, else the expected one. A structured answer that calls itself a text is read
    as what is expected.
    """
    said = by_media(media)
    form = said or expected
    if not data:
        return Payload(None, form)
    if expected.is_structured and (said is None or said.type == "text"):
        try:
            return Payload(decode(data, expected, limit=LARGEST_RESPONSE), expected)
        except ValidationError:
            if said is None:
                return Payload(data, BINARY)
    return Payload(decode(data, form, limit=LARGEST_RESPONSE), form)
