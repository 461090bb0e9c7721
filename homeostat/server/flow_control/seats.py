"""The seats of all priority levels, and how they are divided.

As in Kubernetes, a level has a part of them in the proportion of its shares, and lends a part of that. What is lent is
free for every level up to its borrowing limit, at once and until the call ends; Kubernetes moves it every ten seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from homeostat.server.flow_control.level import Lent, Level, LevelSpec
from homeostat.server.request.in_flight import MOST_READS, MOST_WRITES

SEATS = MOST_READS + MOST_WRITES


class Seats:
    __slots__ = ("lent", "levels", "total")

    def __init__(self, total: int = SEATS) -> None:
        self.total = total
        self.levels: dict[str, Level] = {}
        self.lent = Lent()

    def divide(self, specs: Mapping[str, LevelSpec]) -> None:
        """Set the levels. One that is gone serves the calls that it has, and no longer lends or borrows."""
        for name in self.levels.keys() - specs.keys():
            gone = self.levels[name]
            gone.lower = gone.upper = max(gone.running, 1)
        self.levels = {name: self.levels.get(name) or Level(name, self.lent) for name in specs}
        shares = sum(each.shares for each in specs.values())
        for name, spec in specs.items():
            level = self.levels[name]
            level.spec = spec
            level.nominal = ceil(self.total * spec.shares / shares) if shares else 0
            level.lower = level.nominal - _percent(level.nominal, spec.lendable_percent)
            borrowed = spec.borrowing_percent
            level.upper = level.nominal + (self.total if borrowed is None else _percent(level.nominal, borrowed))
        levels = self.levels.values()
        lent = sum(each.nominal - each.lower for each in levels)
        self.lent.free = lent - sum(max(0, each.running - each.lower) for each in levels)
        self.lent.dispatch()


def _percent(number: int, percent: int) -> int:
    """Rounded to the nearest, and a half upwards."""
    return (number * percent + 50) // 100
