"""Objects by their numbers, newest first. Pure.

Numbers are labels, and labels can be copied. Promises, each tested: of several objects with one number the oldest owns
it, and the others are reported; when the owner is deleted, the next oldest owns it; a lookup by number or a list from a
number on does not visit all objects.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
Age = tuple[str, str]


class Numbered(Generic[T]):
    def __init__(self) -> None:
        self._claims: dict[int, dict[Hashable, tuple[Age, T]]] = {}
        self._numbers: list[int] = []

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def highest(self) -> int:
        return self._numbers[-1] if self._numbers else 0

    def put(self, number: int, key: Hashable, age: Age, item: T) -> None:
        """`key` identifies the object; putting it again replaces it."""
        claims = self._claims.get(number)
        if claims is None:
            claims = self._claims[number] = {}
            insort(self._numbers, number)
        claims[key] = (age, item)

    def remove(self, number: int, key: Hashable) -> None:
        claims = self._claims.get(number)
        if claims is None or claims.pop(key, None) is None or claims:
            return
        del self._claims[number]
        del self._numbers[bisect_left(self._numbers, number)]

    def get(self, number: int) -> T | None:
        claims = self._claims.get(number)
        if claims is None:
            return None
        if len(claims) == 1:
            return next(iter(claims.values()))[1]
        return min(claims.values(), key=lambda each: each[0])[1]

    def disputed(self, number: int) -> list[T]:
        """The objects with this number that do not own it, because an older one has it."""
        claims = self._claims.get(number, {})
        return [item for _, item in sorted(claims.values(), key=lambda each: each[0])[1:]] if len(claims) > 1 else []

    def newest(self, *, before: int = 0) -> Iterator[T]:
        """Objects with numbers below `before`, highest first; all without it. Objects may change meanwhile."""
        at = bisect_left(self._numbers, before) if before else len(self._numbers)
        while at:
            number = self._numbers[at - 1]
            found = self.get(number)
            if found is not None:
                yield found
            at = bisect_left(self._numbers, number)
