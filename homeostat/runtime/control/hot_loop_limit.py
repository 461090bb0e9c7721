"""Limits the rate of an object whose reconciliations cause each other.

Each key has a token bucket of `burst` turns, to which one turn is added every `refill_s`. A hot loop empties its own
bucket and then runs at the rate of the refill; other objects are not affected. Pure: the time is passed.

A bucket is one number, the time at which it will be full again. Full buckets are dropped.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

_FEWEST_TO_SWEEP = 1024


class Breaker(Generic[K]):
    """`trips` counts the delayed turns."""

    def __init__(self, *, burst: int = 100, refill_s: float = 1.0) -> None:
        if burst < 1 or refill_s <= 0:
            raise ValueError(f"burst={burst}, refill_s={refill_s}: expected at least one turn and a time above 0")
        self.trips = 0
        self._refill_s = refill_s
        self._empty_s = burst * refill_s
        self._full_at: dict[K, float] = {}
        self._sweep_at = _FEWEST_TO_SWEEP

    def admit(self, key: K, now: float) -> float:
        """Takes a turn and returns 0.0; or takes none and returns the seconds until there is one."""
        full_at = max(self._full_at.get(key, now), now) + self._refill_s
        wait_s = full_at - now - self._empty_s
        # The sum of many refills is not exact: less than a millionth of a refill counts as none.
        if wait_s > self._refill_s * 1e-6:
            self.trips += 1
            return wait_s
        self._full_at[key] = full_at
        if len(self._full_at) >= self._sweep_at:
            self._sweep(now)
        return 0.0

    def forget(self, key: K) -> None:
        self._full_at.pop(key, None)

    def __len__(self) -> int:
        """The number of buckets that are kept."""
        return len(self._full_at)

    def _sweep(self, now: float) -> None:
        """Drops full buckets. The next sweep waits until their number has doubled, so that a turn stays cheap."""
        self._full_at = {key: full_at for key, full_at in self._full_at.items() if full_at > now}
        self._sweep_at = max(_FEWEST_TO_SWEEP, 2 * len(self._full_at))
