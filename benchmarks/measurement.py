"""What one phase showed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

DISTURBED = 0.25
"""Of one core, used by others: more than that and a phase's times say little."""


class Measurement(msgspec.Struct, kw_only=True, omit_defaults=True):
    phase: str
    count: int
    """Requests; for a phase of watches, events delivered."""
    seconds: float
    p50_ms: float
    p99_ms: float
    cpu_ms: float
    """CPU of the server, for each request or event."""
    own_ms: float
    """CPU of the generator, for each."""
    other: float
    """What share of one core everybody else used meanwhile."""
    rss_mib: float
    """Memory of the server after the phase."""
    objects: int = 0
    """How many objects an answer held, where it held many."""
    lost: int = 0
    """Events that did not arrive."""

    @property
    def rate(self) -> float:
        return self.count / self.seconds if self.seconds else 0.0

    @property
    def is_disturbed(self) -> bool:
        return self.other > DISTURBED


def percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("nan")


def quietest(measurements: Sequence[Measurement]) -> Measurement:
    return min(measurements, key=lambda each: each.other)
