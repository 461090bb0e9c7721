"""Interning of equal values: the first one replaces all that follow, which saves memory.

The number of interned values is bounded. At the bound the pool is emptied and starts again; values in use are not
affected. For frozen values only: a change to one would change it for all holders.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V", bound=Hashable)


class Pool(Generic[V]):
    """`slim` turns a value that is not in the pool yet into an equal one that takes less memory."""

    __slots__ = ("_most", "_slim", "_values")

    def __init__(self, most: int, slim: Callable[[V], V] | None = None) -> None:
        self._values: dict[V, V] = {}
        self._most, self._slim = most, slim

    def __len__(self) -> int:
        return len(self._values)

    def share(self, value: V) -> V:
        found = self._values.get(value)
        if found is not None:
            return found
        if len(self._values) >= self._most:
            self._values.clear()
        kept = value if self._slim is None else self._slim(value)
        self._values[kept] = kept
        return kept
