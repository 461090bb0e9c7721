"""The newest objects of a kind, in memory and kept current by a watch: bounded, however many the server has.

    kept = Newest(2000, order=_order)
    watcher = Watcher(client, Source(path), Projection(Shape), writer=kept)
    kept.first(15)

It is the sink of that watch. Objects that are not accepted are dropped as they arrive; above the limit, the oldest are.
An object that was dropped comes back with the next list at the earliest, even if newer ones are deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import nlargest
from typing import Final, Generic, TypeVar

from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.decoding import Projected, UnreadableObject, name_of, version_of

V = TypeVar("V", bound=Projected)
_SPARE: Final = 500
"""Objects above the limit until the oldest are dropped, so that not each new one costs a walk over all."""


class Newest(Generic[V]):
    """`order` is the time of an object, and its uid for those of one time. `changes` counts what has changed in it.
    Without `accepts`, all objects are accepted."""

    def __init__(
        self, most: int, *, order: Callable[[V], tuple[str, str]], accepts: Callable[[V], bool] | None = None
    ) -> None:
        self._most, self._order, self._accepts = most, order, accepts
        self._objects: dict[tuple[str, str], V] = {}
        self.version = 0
        self.changes = 0
        self.is_cut = False
        """Whether there were older objects."""

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[V]:
        return iter(self._objects.values())

    def first(self, most: int, among: Iterable[V] | None = None) -> list[V]:
        """The newest first."""
        return nlargest(most, self if among is None else among, key=self._order)

    def listing(self) -> _Listing[V]:
        return _Listing(self, Newest(self._most, order=self._order, accepts=self._accepts))

    def put(self, obj: V) -> Change[V] | None:
        self.version = max(self.version, version_of(obj))
        if self._accepts is not None and not self._accepts(obj):
            return None
        self._objects[name_of(obj)] = obj
        self.changes += 1
        if len(self._objects) > self._most + _SPARE:
            self.is_cut = True
            self._keep(self.first(self._most))
        return None

    def remove(self, obj: V) -> Change[V] | None:
        self.version = max(self.version, version_of(obj))
        if self._objects.pop(name_of(obj), None) is not None:
            self.changes += 1
        return None

    def leave_out(self, unreadable: UnreadableObject) -> Change[V] | None:
        self.version = max(self.version, unreadable.version)
        return None

    def advance(self, version: int) -> None:
        self.version = max(self.version, version)

    def replace(self, found: Newest[V], version: int) -> None:
        self._keep(found)
        self.version, self.is_cut = version, found.is_cut
        self.changes += 1

    def _keep(self, objects: Iterable[V]) -> None:
        self._objects = {name_of(each): each for each in objects}


class _Listing(Generic[V]):
    """A list that is being received."""

    def __init__(self, into: Newest[V], found: Newest[V]) -> None:
        self._into, self._found = into, found

    def put(self, obj: V) -> None:
        self._found.put(obj)

    def leave_out(self, unreadable: UnreadableObject) -> None:
        """It is not shown."""

    def swap(self, version: int) -> list[Change[V]]:
        self._into.replace(self._found, version)
        return []
