"""How often webhooks are accepted, and which deliveries came before."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

REPEATS_S: Final = 3600.0
"""A delivery with the same id is accepted once in this time."""
MOST_KEPT: Final = 10_000


class Rate:
    """A budget for each key that refills with time. `seconds` is a monotonic clock."""

    def __init__(self, *, burst: int, every_s: float, seconds: Callable[[], float], most_kept: int = MOST_KEPT) -> None:
        self._burst, self._every_s, self._seconds, self._most_kept = burst, every_s, seconds, most_kept
        self._full_at: OrderedDict[str, float] = OrderedDict()
        """When the budget is full again; a full one is not kept."""

    def wait_s(self, key: str) -> int:
        """Whole seconds until the key may spend something; 0 if it may now."""
        missing = (self._full_at.get(key, 0.0) - self._seconds()) / self._every_s
        return max(0, math.ceil((missing - self._burst + 1) * self._every_s))

    def spend(self, key: str) -> None:
        now = self._seconds()
        self._full_at[key] = max(self._full_at.pop(key, now), now) + self._every_s
        if len(self._full_at) > self._most_kept:
            self._full_at.popitem(last=False)


class Deliveries:
    """The ids of deliveries that were carried out. Other replicas have their own: see `Receiver`."""

    def __init__(self, *, seconds: Callable[[], float], most_kept: int = MOST_KEPT, life_s: float = REPEATS_S) -> None:
        self._seconds, self._most_kept, self._life_s = seconds, most_kept, life_s
        self._seen: OrderedDict[str, float] = OrderedDict()

    def is_known(self, number: str) -> bool:
        return bool(number) and self._seen.get(number, 0.0) > self._seconds()

    def remember(self, number: str) -> None:
        if not number:
            return
        self._seen.pop(number, None)
        self._seen[number] = self._seconds() + self._life_s
        if len(self._seen) > self._most_kept:
            self._seen.popitem(last=False)
