"""What a real kube-apiserver showed, and how many times better the plane is wanted to be. The figures are data."""

from __future__ import annotations

from pathlib import Path

import msgspec

from benchmarks.measurement import Measurement

_FIGURES = Path(__file__).with_name("reference.json")


class Wanted(msgspec.Struct, frozen=True):
    """How many times better; 0 where nothing is wanted."""

    rate: float = 0
    p50_ms: float = 0
    p99_ms: float = 0
    cpu_ms: float = 0

    def asked(self) -> list[tuple[str, float]]:
        return [(name, times) for name, times in msgspec.structs.asdict(self).items() if times]


class Reference(msgspec.Struct, frozen=True):
    rate: float = 0
    p50_ms: float = 0
    p99_ms: float = 0
    cpu_ms: float = 0
    is_per_object: bool = False
    """The figures are for as many objects as `References.objects` says, and grow with them."""
    wanted: Wanted = Wanted()


class Bound(msgspec.Struct, frozen=True):
    unit: str
    reference: float = 0
    most: float = 0


class References(msgspec.Struct, frozen=True):
    about: str
    objects: int
    phases: dict[str, Reference]
    figures: dict[str, Bound]

    def compare(self, measured: Measurement, present: int) -> Comparison:
        """A measurement with so many objects in the collection, against the reference of its phase."""
        reference = self.phases.get(measured.phase, Reference())
        share = present / self.objects if reference.is_per_object else 1.0
        return Comparison(
            measured,
            reference.wanted,
            rate=measured.rate / reference.rate if reference.rate else 0,
            p50_ms=_times(reference.p50_ms * share, measured.p50_ms),
            p99_ms=_times(reference.p99_ms * share, measured.p99_ms),
            cpu_ms=_times(reference.cpu_ms * share, measured.cpu_ms),
        )


class Comparison(msgspec.Struct, frozen=True):
    """How many times better than the reference; 0 where there is none."""

    measured: Measurement
    wanted: Wanted
    rate: float
    p50_ms: float
    p99_ms: float
    cpu_ms: float

    @property
    def missed(self) -> list[str]:
        """Which figures fall short of what is wanted."""
        return [name for name, times in self.wanted.asked() if getattr(self, name) < times]


def _times(reference: float, measured: float) -> float:
    if not reference:
        return 0
    # An event may be seen before the answer to its write is.
    return reference / measured if measured > 0 else float("inf")


def references() -> References:
    return msgspec.json.decode(_FIGURES.read_bytes(), type=References)
