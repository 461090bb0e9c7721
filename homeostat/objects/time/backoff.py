"""How long to wait after a failure: longer each time, up to a cap, and spread.

Pure: the failures are counted and the random number is drawn by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, frozen=True)
class Backoff:
    """`spread` is the part of each delay that is left to chance, so that what failed together is not retried so."""

    first_s: float = 0.05
    cap_s: float = 300.0
    factor: float = 2.0
    spread: float = 0.3

    def __post_init__(self) -> None:
        if not (0 < self.first_s <= self.cap_s and self.factor >= 1 and 0 <= self.spread <= 1):
            raise ValueError(f"{self}: wants 0 < first_s <= cap_s, factor >= 1 and spread from 0 to 1")

    def delay_s(self, failures: int, chance: float) -> float:
        """The wait after so many failures in a row; `chance` is uniform in [0, 1).

        Between the full delay and the full delay less its spread, and never above the cap.
        """
        try:
            full = min(self.cap_s, self.first_s * self.factor ** (failures - 1))
        except OverflowError:
            full = self.cap_s
        return full * (1.0 - self.spread * chance)
