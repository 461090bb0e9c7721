"""The client for everything outside Kubernetes: forges, registries, Vaults, webhooks, REST APIs.

    async with RestClient(RestSettings(retry=RetryPolicy(attempts=3))) as client:
        response = await client.send(Request("GET", url, auth=BearerToken(token)))

A response of any status is returned. An error says whether the server may have carried out the request (`errors.py`).
Each wait ends at the deadline of the request. An idempotent request is retried as the settings say (`retry.py`). After
repeated failures of a host its requests fail at once for a while (`breaker.py`). Redirects are followed if the request
says so, and credentials are sent only to the host that they are for (`redirects.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from homeostat.external.rest.auth import OAuth2, auth_headers
from homeostat.external.rest.breaker import CircuitBreaker
from homeostat.external.rest.errors import (
    AddressRefusedError,
    BreakerOpenError,
    InvalidResponseError,
    NotSentError,
    RateExceededError,
    ResponseLostError,
    ResponseTooLargeError,
    RestError,
    TlsInvalidError,
    TokenError,
    TooManyRedirectsError,
)
from homeostat.external.rest.oauth2 import OAuth2Tokens
from homeostat.external.rest.rate import RateLimiter
from homeostat.external.rest.redirects import redirected
from homeostat.external.rest.request import Request, Response, origin_of
from homeostat.external.rest.retry import Failure, RetryPolicy, retry_after_s
from homeostat.external.rest.settings import RestSettings, Timing
from homeostat.external.rest.transport import Opened, Progress, Transport
from homeostat.external.secrets.credentials import BearerToken

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver

_UNWELL: Final = frozenset({502, 503, 504})
_NOT_THE_HOST: Final = (AddressRefusedError, TlsInvalidError, ResponseTooLargeError, InvalidResponseError)
"""Errors that say nothing about the health of a host."""
_FINAL: Final = (BreakerOpenError, RateExceededError, TokenError, *_NOT_THE_HOST)
"""Errors that another attempt would only repeat."""

Origin = tuple[str, str, int]


class _Head(Protocol):
    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...


R = TypeVar("R", bound=_Head)
Step = Callable[[Request, Progress], Awaitable[R]]


class RestClient:
    """Opens its connections at the first use, in the loop that uses it. `close` it, or use it as a context."""

    def __init__(
        self,
        settings: RestSettings | None = None,
        *,
        timing: Timing | None = None,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._settings, self._timing = settings or RestSettings(), timing or Timing()
        self._transport = Transport(self._settings, resolver)
        policy = self._settings.breaker
        self._breaker: CircuitBreaker[Origin] | None = CircuitBreaker(policy) if policy else None
        rate = self._settings.rate
        self._rate: RateLimiter[Origin] | None = RateLimiter(rate) if rate else None
        self._tokens = OAuth2Tokens(self.send, self._timing.seconds)

    async def __aenter__(self) -> RestClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def try_again(self, host: str) -> None:
        """Let one request to this host, with or without a port, through an open breaker: it has sent us something."""
        breaker, now = self._breaker, self._timing.seconds()
        for origin in breaker.hosts() if breaker is not None else ():
            _, name, port = origin
            if breaker is not None and host in (name, f"{name}:{port}", f"[{name}]:{port}"):
                breaker.half_open(origin, now)

    async def close(self) -> None:
        await self._transport.close()

    async def send(self, request: Request) -> Response:
        """The response with its body."""
        async with self._timed(request) as progress:
            return await self._sent(request, progress, self._exchange)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Opened]:
        """The response as it arrives: `async for chunk in response.chunks()`. The request's deadline covers all of it,
        the caller's work included. Once the body has begun, the request is not retried.
        """
        async with self._timed(request) as progress:
            opened = await self._sent(request, progress, self._transport.open)
            try:
                yield opened
            finally:
                opened.close()

    @asynccontextmanager
    async def _timed(self, request: Request) -> AsyncIterator[Progress]:
        progress = Progress()
        deadline = asyncio.timeout(request.timeout_s)
        try:
            async with deadline:
                yield progress
        except TimeoutError as error:
            if not deadline.expired():
                # Of something that the caller does while it reads a stream.
                raise
            if self._breaker is not None and progress.origin is not None:
                self._breaker.failed(progress.origin, self._timing.seconds())
            kind = ResponseLostError if progress.is_sent else NotSentError
            raise kind(f"timed out after {request.timeout_s:g} s", host=request.host) from error

    async def _sent(self, request: Request, progress: Progress, step: Step[R]) -> R:
        try:
            return await self._followed(request, progress, step)
        except NotSentError as error:
            if not progress.is_sent:
                raise
            # The last attempt or a redirect's target was not reached, but an earlier request was sent.
            raise ResponseLostError(error.problem, host=error.host, advice=error.advice) from error

    async def _exchange(self, request: Request, progress: Progress) -> Response:
        return await (await self._transport.open(request, progress)).read()

    async def _followed(self, request: Request, progress: Progress, step: Step[R]) -> R:
        deadline = self._timing.seconds() + request.timeout_s
        left = request.redirects
        while True:
            response = await self._retried(request, progress, step, deadline)
            target = redirected(request, response.status, response.headers) if request.redirects else None
            if target is None:
                return response
            _discard(response)
            if not left:
                raise TooManyRedirectsError(
                    f"expected at most {request.redirects} redirects, and there are more",
                    host=request.host,
                    advice="check the URL",
                )
            request, left = target, left - 1

    async def _retried(self, request: Request, progress: Progress, step: Step[R], deadline: float) -> R:
        policy, is_safe = self._settings.retry, request.is_idempotent
        attempt = 0
        while True:
            attempt += 1
            try:
                response = await self._authorized(request, progress, step, deadline)
            except RestError as error:
                left_s = self._left_s(deadline)
                failure = Failure(attempt=attempt, status=None, left_s=left_s, is_idempotent=is_safe)
                wait_s = None if isinstance(error, _FINAL) else self._wait_s(policy, failure)
                if wait_s is None:
                    raise
            else:
                asked_s = retry_after_s(response.headers, self._timing.wall_s())
                left_s = self._left_s(deadline)
                failure = Failure(
                    attempt=attempt, status=response.status, asked_s=asked_s, left_s=left_s, is_idempotent=is_safe
                )
                wait_s = self._wait_s(policy, failure)
                if wait_s is None:
                    return response
                _discard(response)
            await self._timing.sleep(wait_s)

    async def _authorized(self, request: Request, progress: Progress, step: Step[R], deadline: float) -> R:
        auth = request.auth
        if not isinstance(auth, OAuth2):
            headers = {**request.headers, **auth_headers(auth)} if auth else request.headers
            return await self._guarded(replace(request, headers=headers), progress, step, deadline)
        token = await self._tokens.get(auth)
        response = await self._guarded(_with_token(request, token), progress, step, deadline)
        if response.status != 401:
            return response
        # The token may have been revoked: one retry with a new one, and its response is final.
        self._tokens.forget(auth, token)
        _discard(response)
        return await self._guarded(_with_token(request, await self._tokens.get(auth)), progress, step, deadline)

    async def _guarded(self, request: Request, progress: Progress, step: Step[R], deadline: float) -> R:
        breaker = self._breaker
        try:
            origin = origin_of(request.url)
        except ValueError:
            # Its text may quote a password that is not percent-encoded.
            advice = "expected http:// or https:// and a host"
            raise NotSentError("the URL is invalid", host=request.host, advice=advice) from None
        await self._take_turn(request, origin, deadline)
        if breaker is None:
            return await step(request, progress)
        if after_s := breaker.admit(origin, self._timing.seconds()):
            raise BreakerOpenError(
                # Without the seconds: who shows the error in a condition would write a new one for each request.
                f"failed {self._failures} times in a row",
                after_s,
                host=request.host,
                advice="will retry soon",
            )
        progress.origin = origin
        try:
            response = await step(request, progress)
        except RestError as error:
            progress.origin = None
            if isinstance(error, _NOT_THE_HOST):
                breaker.released(origin)
            else:
                breaker.failed(origin, self._timing.seconds())
            raise
        except BaseException:
            # Cancelled by the caller, or past the deadline: `_timed` knows which.
            breaker.released(origin)
            raise
        progress.origin = None
        if response.status in _UNWELL:
            breaker.failed(origin, self._timing.seconds())
        else:
            breaker.succeeded(origin)
        return response

    async def _take_turn(self, request: Request, origin: Origin, deadline: float) -> None:
        """Waits as the limit on requests per second demands."""
        if self._rate is None:
            return
        now = self._timing.seconds()
        wait_s = self._rate.wait_s(origin, now)
        if wait_s > self._left_s(deadline):
            raise RateExceededError(
                "more requests are waiting than can be sent in time",
                host=request.host,
                advice=f"expected at most {self._settings.rate.per_s if self._settings.rate else 0:g} a second",
            )
        self._rate.take(origin, now)
        if wait_s:
            await self._timing.sleep(wait_s)

    @property
    def _failures(self) -> int:
        return self._settings.breaker.failures if self._settings.breaker else 0

    def _wait_s(self, policy: RetryPolicy, failure: Failure) -> float | None:
        return policy.wait_s(failure, self._timing.chance())

    def _left_s(self, deadline: float) -> float:
        return deadline - self._timing.seconds()


def _with_token(request: Request, token: str) -> Request:
    return replace(request, headers={**request.headers, "Authorization": BearerToken(token).header})


def _discard(response: object) -> None:
    if isinstance(response, Opened):
        response.close()
