"""A limit on requests per second for each host: a token bucket. Pure: the time is passed in.

A request takes a token, and waits until there is one. Requests take their turns in the order in which they asked, so a
burst beyond `burst` is spread out at `per_s`. Only hosts whose bucket is not full are remembered.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

_MOST_HOSTS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RatePolicy:
    per_s: float
    burst: int = 1
    """How many requests may be sent at once after a pause."""

    def __post_init__(self) -> None:
        if self.per_s <= 0 or self.burst < 1:
            raise ValueError(f"{self}: expected per_s > 0 and burst >= 1")


class RateLimiter(Generic[K]):
    def __init__(self, policy: RatePolicy) -> None:
        self._policy = policy
        self._full_at: dict[K, float] = {}
        """When the bucket of a host is full again. Each token that was taken moves it by one interval."""

    def __len__(self) -> int:
        return len(self._full_at)

    def wait_s(self, host: K, now: float) -> float:
        """Seconds until the next request to this host may be sent; 0.0 for at once."""
        interval_s = 1 / self._policy.per_s
        return max(self._full_at.get(host, now) - now - interval_s * (self._policy.burst - 1), 0.0)

    def take(self, host: K, now: float) -> None:
        """Takes a token, also one that is available only after `wait_s`."""
        if len(self._full_at) >= _MOST_HOSTS and host not in self._full_at:
            self._full_at = {each: at for each, at in self._full_at.items() if at > now}
            if len(self._full_at) >= _MOST_HOSTS:
                self._full_at.clear()
        self._full_at[host] = max(self._full_at.get(host, now), now) + 1 / self._policy.per_s
