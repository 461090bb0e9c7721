"""Equal values, held once: the first of them stands for all that follow.

What is remembered has a bound. When it is reached everything is forgotten, and sharing begins anew: values that are in
use stay as they are. Made for frozen values; who changes one changes it for all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V", bound=Hashable)


class Pool(Generic[V]):
    """`slim` makes of a value that comes for the first time an equal one that takes less room."""

    __slots__ = ("_held", "_most", "_slim")

    def __init__(self, most: int, slim: Callable[[V], V] | None = None) -> None:
        self._held: dict[V, V] = {}
        self._most, self._slim = most, slim

    def __len__(self) -> int:
        return len(self._held)

    def share(self, value: V) -> V:
        found = self._held.get(value)
        if found is not None:
            return found
        if len(self._held) >= self._most:
            self._held.clear()
        kept = value if self._slim is None else self._slim(value)
        self._held[kept] = kept
        return kept
