"""Whether a failed request is sent again, and when. Pure: the clock and the random number are passed in.

| what came back | sent again, if idempotent |
|---|---|
| 429, 502, 503, 504 | after Retry-After, else after a wait that doubles |
| no connection, or a connection that broke | after a wait that doubles |
| any other response | never |

A request that is not idempotent is never sent again. A server that asks for a longer wait than is left is not asked
again: the caller gets its response.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from homeostat.objects.time.backoff import Backoff

_LATER: Final = frozenset({429, 502, 503, 504})
_MOST_DIGITS: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One attempt that did not succeed; `status` is None where no response arrived."""

    attempt: int
    status: int | None
    asked_s: float | None = None
    """What Retry-After asks for."""
    left_s: float = 0.0
    """Of the time for the whole request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    attempts: int = 1
    first_s: float = 0.2
    cap_s: float = 10.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or not 0 < self.first_s <= self.cap_s:
            raise ValueError(f"{self}: expected attempts >= 1 and 0 < first_s <= cap_s")

    def wait_s(self, failure: Failure, chance: float) -> float | None:
        """Seconds until the next attempt; None for no other. `chance` is uniform in [0, 1)."""
        if failure.attempt >= self.attempts or (failure.status is not None and failure.status not in _LATER):
            return None
        if failure.asked_s is not None:
            wait_s = failure.asked_s + chance * self.first_s
        else:
            wait_s = Backoff(self.first_s, self.cap_s, spread=0.5).delay_s(failure.attempt, chance)
        return wait_s if wait_s < failure.left_s else None


NO_RETRY: Final = RetryPolicy()


def retry_after_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """Seconds that `Retry-After` asks for, in either of its forms; None without one that can be read.

    A date is compared with the server's own, if it sent one: the two clocks may differ.
    """
    text = headers.get("retry-after", "").strip()
    if text.isdecimal():
        return float(text) if len(text) <= _MOST_DIGITS else None
    due_s = _date_s(text)
    if due_s is None:
        return None
    sent_s = _date_s(headers.get("date", ""))
    return max(due_s - (now_s if sent_s is None else sent_s), 0.0)


def _date_s(text: str) -> float | None:
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
