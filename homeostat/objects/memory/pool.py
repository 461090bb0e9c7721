"""Interning of equal values: the first one replaces all that follow, which saves memory.

The number and the size of interned values are bounded. At a bound the pool is emptied and starts again; values in use
are not affected. A large value is not interned: whoever writes others like it again and again would fill the pool. For
frozen values only: a change to one would change it for all holders.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

import msgspec

V = TypeVar("V", bound=Hashable)

MOST_BYTES: Final = 16 * 1024 * 1024
_PART: Final = 64
"""A value may take such a part of the pool."""
_VALUE_BYTES: Final = 56
_NONE_BYTES: Final = 8


class Pool(Generic[V]):
    """`slim` turns a value that is not in the pool yet into an equal one that takes less memory."""

    __slots__ = ("_bytes", "_most", "_most_bytes", "_slim", "_values")

    def __init__(self, most: int, slim: Callable[[V], V] | None = None, *, most_bytes: int = MOST_BYTES) -> None:
        self._values: dict[V, V] = {}
        self._most, self._slim, self._most_bytes = most, slim, most_bytes
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._values)

    def share(self, value: V) -> V:
        found = self._values.get(value)
        if found is not None:
            return found
        size = size_of(value, self._most_bytes // _PART)
        if size > self._most_bytes // _PART:
            return value
        if len(self._values) >= self._most or self._bytes + size > self._most_bytes:
            self._values.clear()
            self._bytes = 0
        kept = value if self._slim is None else self._slim(value)
        self._values[kept] = kept
        self._bytes += size
        return kept


def size_of(value: object, enough: int) -> int:
    """About the bytes of a value and its parts; anything above `enough` if they are more."""
    if value is None:
        return _NONE_BYTES
    size = _VALUE_BYTES
    match value:
        case str() | bytes():
            return size + len(value)
        case msgspec.Struct():
            parts = msgspec.structs.astuple(value)
        case tuple():
            parts = value
        case _:
            return size
    for each in parts:
        size += size_of(each, enough - size)
        if size > enough:
            break
    return size
