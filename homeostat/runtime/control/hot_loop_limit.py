"""Stops an object whose reconciles cause each other: one that never settles gets its turns rationed.

Each key has a bucket of `burst` turns that refills by one every `refill_s`. A hot loop empties its own bucket and from
then on runs at the pace of the refill; other objects are not affected. Pure: the time is passed.

A bucket is one number, the moment at which it will be full again, and is forgotten once it is.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

_FEWEST_TO_SWEEP = 1024


class Breaker(Generic[K]):
    """`trips` counts the turns that were put off."""

    def __init__(self, *, burst: int = 100, refill_s: float = 1.0) -> None:
        if burst < 1 or refill_s <= 0:
            raise ValueError(f"burst={burst}, refill_s={refill_s}: wants at least one turn and a time above 0")
        self.trips = 0
        self._refill_s = refill_s
        self._empty_s = burst * refill_s
        self._full_at: dict[K, float] = {}
        self._sweep_at = _FEWEST_TO_SWEEP

    def admit(self, key: K, now: float) -> float:
        """0.0 spends a turn; otherwise none is spent, and there will be one in so many seconds."""
        full_at = max(self._full_at.get(key, now), now) + self._refill_s
        wait_s = full_at - now - self._empty_s
        # The sum of many refills is not exact; less than a millionth of one is no wait.
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
        """How many keys have a bucket that is not known to be full."""
        return len(self._full_at)

    def _sweep(self, now: float) -> None:
        """Drops the full ones. The next sweep waits until there are twice as many as are left: a turn stays cheap."""
        self._full_at = {key: full_at for key, full_at in self._full_at.items() if full_at > now}
        self._sweep_at = max(_FEWEST_TO_SWEEP, 2 * len(self._full_at))
