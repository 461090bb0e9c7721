"""Objects by their numbers, and newest first by time of creation. Pure.

Numbers are labels, and labels can be copied. Promises, each tested: of several objects with one number the oldest owns
it, and the others are reported; when the owner is deleted, the next oldest owns it; a lookup by number or a list from a
number on does not visit all objects. An object may be numbered long after it was created, so lists are in order of
time, and in order of numbers within a second.
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
        self._order: list[tuple[str, int]] = []
        """Creation time and number of each owner."""

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
        else:
            self._leave_order(number)
        claims[key] = (age, item)
        insort(self._order, self._place(number))

    def remove(self, number: int, key: Hashable) -> None:
        claims = self._claims.get(number)
        if claims is None or key not in claims:
            return
        self._leave_order(number)
        del claims[key]
        if claims:
            insort(self._order, self._place(number))
            return
        del self._claims[number]
        del self._numbers[bisect_left(self._numbers, number)]

    def get(self, number: int) -> T | None:
        claims = self._claims.get(number)
        if claims is None:
            return None
        if len(claims) == 1:
            return next(iter(claims.values()))[1]
        return min(claims.values(), key=_age)[1]

    def disputed(self, number: int) -> list[T]:
        """The objects with this number that do not own it, because an older one has it."""
        claims = self._claims.get(number, {})
        return [item for _, item in sorted(claims.values(), key=lambda each: each[0])[1:]] if len(claims) > 1 else []

    def newest(self, *, before: int = 0) -> Iterator[T]:
        """Objects that are older than the one with the number `before`; all without it. Objects may change meanwhile.

        If that object was deleted meanwhile, objects with lower numbers.
        """
        is_known = before in self._claims
        at = bisect_left(self._order, self._place(before)) if is_known else len(self._order)
        while at:
            place = self._order[at - 1]
            found = self.get(place[1]) if is_known or not before or place[1] < before else None
            if found is not None:
                yield found
            at = bisect_left(self._order, place)

    def snapshot(self) -> list[T]:
        """All objects of this moment, newest first, at about a microsecond each."""
        claims = (self._claims[number].values() for _, number in reversed(self._order))
        return [(next(iter(each)) if len(each) == 1 else min(each, key=_age))[1] for each in claims]

    def _place(self, number: int) -> tuple[str, int]:
        return min(age for age, _ in self._claims[number].values())[0], number

    def _leave_order(self, number: int) -> None:
        del self._order[bisect_left(self._order, self._place(number))]


def _age(claim: tuple[Age, object]) -> Age:
    return claim[0]
