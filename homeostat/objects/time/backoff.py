"""Exponential backoff: how long to wait after a failure, with a cap and jitter.

Pure: the caller counts the failures and draws the random number.
"""

from __future__ import annotations

import msgspec


class Backoff(msgspec.Struct, frozen=True):
    """`spread` is the share of each delay that is random, so that objects that failed together are not retried
    together.
    """

    first_s: float = 0.05
    cap_s: float = 300.0
    factor: float = 2.0
    spread: float = 0.3

    def __post_init__(self) -> None:
        if not (0 < self.first_s <= self.cap_s and self.factor >= 1 and 0 <= self.spread <= 1):
            raise ValueError(f"{self}: expected 0 < first_s <= cap_s, factor >= 1 and spread from 0 to 1")

    def delay_s(self, failures: int, chance: float) -> float:
        """The delay after this many failures in a row; `chance` is uniform in [0, 1).

        The result lies between the full delay and the full delay less its spread, and never above the cap.
        """
        try:
            full = min(self.cap_s, self.first_s * self.factor ** (failures - 1))
        except OverflowError:
            full = self.cap_s
        return full * (1.0 - self.spread * chance)
