"""Whether and when a failed request is retried. Pure: the clock and the random number are passed in.

| result | retry of an idempotent request |
|---|---|
| 429, 502, 503, 504 | after Retry-After, else with exponential backoff |
| no connection, or a broken connection | with exponential backoff |
| any other response | never |

A request that is not idempotent is never retried, unless `retries_refused` is set and the server refuses it with 429 or
503 and Retry-After: it was not carried out then. If Retry-After exceeds the deadline, the caller gets the response.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from homeostat.objects.time.backoff import Backoff

_LATER: Final = frozenset({429, 502, 503, 504})
_REFUSED: Final = frozenset({429, 503})
_MOST_DIGITS: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failed attempt; `status` is None if no response arrived."""

    attempt: int
    status: int | None
    asked_s: float | None = None
    """The value of Retry-After."""
    left_s: float = 0.0
    """Time until the deadline of the request."""
    is_idempotent: bool = True

    @property
    def is_refused(self) -> bool:
        return self.status in _REFUSED and self.asked_s is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    attempts: int = 1
    first_s: float = 0.2
    cap_s: float = 10.0
    retries_refused: bool = False
    """Whether to retry a request that is not idempotent and that the server refused for now."""

    def __post_init__(self) -> None:
        if self.attempts < 1 or not 0 < self.first_s <= self.cap_s:
            raise ValueError(f"{self}: expected attempts >= 1 and 0 < first_s <= cap_s")

    def wait_s(self, failure: Failure, chance: float) -> float | None:
        """Seconds until the next attempt; None for no retry. `chance` is uniform in [0, 1)."""
        if failure.attempt >= self.attempts or (failure.status is not None and failure.status not in _LATER):
            return None
        if not failure.is_idempotent and not (self.retries_refused and failure.is_refused):
            return None
        if failure.asked_s is not None:
            wait_s = failure.asked_s + chance * self.first_s
        else:
            wait_s = Backoff(self.first_s, self.cap_s, spread=0.5).delay_s(failure.attempt, chance)
        return wait_s if wait_s < failure.left_s else None


NO_RETRY: Final = RetryPolicy()


def retry_after_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """The seconds of `Retry-After`, in either of its forms; None without a valid one.

    A date is compared with the server's `Date` if it sent one, because the two clocks may differ.
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
