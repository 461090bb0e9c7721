"""Counters of a store's commits, as plain numbers for metrics."""

from __future__ import annotations

from bisect import bisect_left

BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)


class Counters:
    """`buckets[i]` counts batches that took at most `BUCKETS_S[i]` seconds; the last bucket counts slower ones."""

    __slots__ = ("batches", "buckets", "failures", "rows", "seconds")

    def __init__(self) -> None:
        self.batches = 0
        self.failures = 0
        self.rows = 0
        self.seconds = 0.0
        self.buckets = [0] * (len(BUCKETS_S) + 1)

    def count(self, rows: int, seconds: float) -> None:
        self.batches += 1
        self.rows += rows
        self.seconds += seconds
        self.buckets[bisect_left(BUCKETS_S, seconds)] += 1
