"""Objects by their numbers, and newest first by time of creation. Pure.

Numbers are labels, and labels can be copied. Promises, each tested: of several objects with one number the oldest owns
it, and the others are reported; when the owner is deleted, the next oldest owns it; a lookup by number or a list from a
number on does not visit all objects. An object may be numbered long after it was created, so lists are in order of
time, and in order of numbers within a second.

Changes are noted, and put in order before the next list: a first list of 100,000 objects would take a second otherwise.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from typing import Final, Generic, TypeVar

_FEW: Final = 100
"""Changes that are put in order one by one."""

T = TypeVar("T")
Age = tuple[str, str]
Place = tuple[str, int]


class Numbered(Generic[T]):
    def __init__(self) -> None:
        self._claims: dict[int, dict[Hashable, tuple[Age, T]]] = {}
        self._order: list[Place] = []
        """Creation time and number of each owner, but for those that changed."""
        self._places: dict[int, Place] = {}
        """What `_order` has, by number."""
        self._changed: set[int] = set()
        self._highest: int | None = 0
        """None: unknown."""

    def __len__(self) -> int:
        return len(self._claims)

    @property
    def highest(self) -> int:
        if self._highest is None:
            self._highest = max(self._claims, default=0)
        return self._highest

    def put(self, number: int, key: Hashable, age: Age, item: T) -> None:
        """`key` identifies the object; putting it again replaces it."""
        self._claims.setdefault(number, {})[key] = (age, item)
        self._changed.add(number)
        if self._highest is not None and number > self._highest:
            self._highest = number

    def remove(self, number: int, key: Hashable) -> None:
        claims = self._claims.get(number)
        if claims is None or key not in claims:
            return
        del claims[key]
        self._changed.add(number)
        if not claims:
            del self._claims[number]
            if number == self._highest:
                self._highest = None

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
        self._settle()
        at = bisect_left(self._order, self._places[before]) if is_known else len(self._order)
        while at:
            place = self._order[at - 1]
            found = self.get(place[1]) if is_known or not before or place[1] < before else None
            if found is not None:
                yield found
                self._settle()
            at = bisect_left(self._order, place)

    def snapshot(self) -> list[T]:
        """All objects of this moment, newest first, at about a microsecond each."""
        self._settle()
        claims = (self._claims[number].values() for _, number in reversed(self._order))
        return [(next(iter(each)) if len(each) == 1 else min(each, key=_age))[1] for each in claims]

    def _settle(self) -> None:
        """Put what changed in order."""
        if not self._changed:
            return
        moved = {
            number: place for number in self._changed if (place := self._place(number)) != self._places.get(number)
        }
        self._changed = set()
        if len(moved) > _FEW:
            kept = [each for each in self._order if each[1] not in moved]
            self._order = sorted([*kept, *filter(None, moved.values())])
        for number, place in moved.items():
            former = self._places.pop(number, None)
            if place is not None:
                self._places[number] = place
            if len(moved) > _FEW:
                continue
            if former is not None:
                del self._order[bisect_left(self._order, former)]
            if place is not None:
                insort(self._order, place)

    def _place(self, number: int) -> Place | None:
        claims = self._claims.get(number)
        if not claims:
            return None
        age, _ = next(iter(claims.values())) if len(claims) == 1 else min(claims.values(), key=_age)
        return age[0], number


def _age(claim: tuple[Age, object]) -> Age:
    return claim[0]
