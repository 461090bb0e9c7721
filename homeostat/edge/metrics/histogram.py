"""Durations counted in buckets: numbers in a list, since every request is counted and few are ever read."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from operator import add


class Tally:
    """How many took at most as long as each bound says and longer than the one before it; the last longer than all."""

    __slots__ = ("_bounds", "counts", "seconds")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(self._bounds, seconds)] += 1
        self.seconds += seconds

    def take(self, other: Tally) -> None:
        """Counts in what another of the same bounds has counted."""
        self.counts = list(map(add, self.counts, other.counts))
        self.seconds += other.seconds

    def buckets(self) -> list[tuple[str, int]]:
        """As Prometheus has them: each bound with all that took no longer."""
        return list(zip([*map(str, self._bounds), "+Inf"], accumulate(self.counts), strict=True))
