"""Retries a request if that is safe.

| what came back | sent again |
|---|---|
| 429, and 503 with Retry-After | any request: the server has not processed it |
| 500, 502, 503, 504 without it | reads: it is unknown whether a write was done |
| no connection | any request: the server has not seen it |
| a lost connection | reads |

The number of attempts and the time are bounded; then the last answer is returned. There is no retry if Retry-After is
longer than the remaining time. Watches are not retried here: their reader knows where to resume.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from homeostat.client.base import Response, Transport, UnreachableError
from homeostat.objects.time.backoff import Backoff

_READS = frozenset({"GET", "HEAD"})
_UNWELL = frozenset({500, 502, 503, 504})
_LONGEST_DIGITS = 9


def parse_retry_after(text: str | None) -> float | None:
    """Seconds; None without the header, and for a date, which no Kubernetes API sends."""
    if text is None or not text.strip().isdecimal() or len(text.strip()) > _LONGEST_DIGITS:
        return None
    return float(text)


class Patience(msgspec.Struct, frozen=True):
    """Limits of retries. The delay doubles from `first_s` up to `longest_s`."""

    attempts: int = 6
    total_s: float = 60.0
    first_s: float = 0.1
    longest_s: float = 10.0

    def wait_s(self, failures: int, retry_after_s: float | None, chance: float) -> float:
        """The delay, at least Retry-After, with jitter: `chance` is uniform in [0, 1)."""
        if retry_after_s is not None:
            return retry_after_s + chance * self.first_s
        return Backoff(self.first_s, self.longest_s, spread=0.5).delay_s(failures, 1.0 - chance)


def is_worth_another(method: str, outcome: Response | UnreachableError) -> bool:
    is_read = method in _READS
    match outcome:
        case UnreachableError():
            return is_read or not outcome.was_sent
        case Response(status=429):
            return True
        case Response(status=503, retry_after_s=after_s) if after_s is not None:
            return True
    return is_read and outcome.status in _UNWELL


class Retrying:
    """A transport that wraps another one. Clock, sleep and chance are passed in for tests."""

    def __init__(
        self,
        transport: Transport,
        patience: Patience | None = None,
        *,
        chance: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._transport = transport
        self._patience = patience or Patience()
        self._chance, self._clock, self._sleep = chance, clock, sleep

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        deadline = self._clock() + self._patience.total_s
        failures = 0
        while True:
            outcome: Response | UnreachableError
            try:
                outcome = await self._transport.send(
                    method, path, query=query, body=body, content_type=content_type, accept=accept
                )
                if outcome.status < 400:
                    return outcome
            except UnreachableError as error:
                outcome = error
            failures += 1
            wait_s = self._wait_s(method, outcome, failures, deadline)
            if wait_s is not None:
                await self._sleep(wait_s)
            elif isinstance(outcome, UnreachableError):
                raise outcome
            else:
                return outcome

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        return await self._transport.stream(path, query=query, accept=accept)

    def _wait_s(
        self, method: str, outcome: Response | UnreachableError, failures: int, deadline: float
    ) -> float | None:
        """The delay before the next attempt; None for no retry."""
        if failures >= self._patience.attempts or not is_worth_another(method, outcome):
            return None
        retry_after_s = outcome.retry_after_s if isinstance(outcome, Response) else None
        wait_s = self._patience.wait_s(failures, retry_after_s, self._chance())
        return wait_s if self._clock() + wait_s < deadline else None
