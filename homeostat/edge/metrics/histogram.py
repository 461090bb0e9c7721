"""A histogram of durations. Buckets are numbers in a list: every request is counted, and the counts are rarely read."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from math import inf
from operator import add


class Histogram:
    """Counts durations by bucket: up to its bound and longer than the bound before; the last has no bound."""

    __slots__ = ("_bounds", "counts", "seconds")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(self._bounds, seconds)] += 1
        self.seconds += seconds

    def merge(self, other: Histogram) -> None:
        """Add the counts of another histogram with the same bounds."""
        self.counts = list(map(add, self.counts, other.counts))
        self.seconds += other.seconds

    def buckets(self) -> list[tuple[str, int]]:
        """Cumulative, as Prometheus expects: each bound with the count of all durations up to it."""
        return list(zip([*map(str, self._bounds), "+Inf"], accumulate(self.counts), strict=True))

    def bound_of(self, share: float) -> float:
        """The bound of the bucket up to which this share of all durations lies; 0 without any."""
        wanted = share * sum(self.counts)
        found = (
            bound for bound, count in zip((*self._bounds, inf), accumulate(self.counts), strict=True) if count >= wanted
        )
        return next(found, 0.0) if wanted else 0.0
