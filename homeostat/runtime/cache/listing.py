"""A list of all objects on its way into a cache, and how two states differ.

What is listed shows nowhere before the list is complete. An object that is listed unchanged is the value that the cache
holds, so that a relist does not keep everything twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, Protocol, TypeVar

from homeostat.runtime.cache.decoding import UnreadableObject
from homeostat.runtime.cache.freshness import Deletion
from homeostat.runtime.cache.index import Name

V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)
Objects = dict[str, dict[str, V]]
"""By namespace and name."""
Deletions = dict[Name, Deletion]


class Change(NamedTuple, Generic[V_co]):
    """What became of one object: without `old` it is new, without `new` it is gone."""

    namespace: str
    name: str
    old: V_co | None
    new: V_co | None


class End(Protocol[V]):
    """What a complete list is handed to: a cache's writer."""

    def swap(self, listing: Listing[V], version: int) -> list[Change[V]]: ...

    def merge(self, listing: Listing[V], version: int) -> list[Change[V]]: ...


class Listing(Generic[V]):
    """A list that arrives page by page, or as the initial events of a watch."""

    def __init__(
        self, end: End[V], name_of: Callable[[V], Name], *, version: int, held: Objects[V], deletions: Deletions
    ) -> None:
        self._end, self._name_of, self._held = end, name_of, held
        self.began = version
        """The newest version that the cache had seen before."""
        self.deletions = deletions
        """Carried out before the list was requested, so the list is right about them, whatever it says."""
        self.objects: Objects[V] = {}
        self.unreadable: dict[Name, UnreadableObject] = {}
        self.removals: dict[Name, int] = {}
        """Objects that events removed while this list was compared, with the version of the event."""

    def put(self, obj: V) -> None:
        namespace, name = self._name_of(obj)
        held = self._held.get(namespace)
        found = None if held is None else held.get(name)
        self.objects.setdefault(namespace, {})[name] = found if found is not None and found == obj else obj
        if self.unreadable:
            self.unreadable.pop((namespace, name), None)

    def leave_out(self, unreadable: UnreadableObject) -> None:
        """The object exists, but is not shown; neither is an earlier version of it that was put."""
        namespace, name = unreadable.namespace, unreadable.name
        self.unreadable[namespace, name] = unreadable
        objects = self.objects.get(namespace, {})
        if objects.pop(name, None) is not None and not objects:
            del self.objects[namespace]

    def swap(self, version: int) -> list[Change[V]]:
        """The list is complete and becomes the state of the cache; returns the differences to the state before.

        That holds for a list that is older than the cache, too: a list was requested at the newest version.
        """
        return self._end.swap(self, version)

    def merge(self, version: int) -> list[Change[V]]:
        """The list is complete, and events have come beside it: corrects and returns the differences that are no newer
        than the list. Does nothing where another list has begun since.

        A list older than the cache was when it was requested comes from a server that was restored from a backup: it
        becomes the state.
        """
        return self._end.merge(self, version)


def differences(old: Objects[V], new: Objects[V]) -> Iterable[Change[V]]:
    """Removed objects come first. Values that are the same one do not differ."""
    nothing: dict[str, V] = {}
    for namespace, objects in old.items():
        left = new.get(namespace, nothing)
        for name, obj in objects.items():
            if name not in left:
                yield Change(namespace, name, obj, None)
    for namespace, objects in new.items():
        before = old.get(namespace, nothing)
        for name, obj in objects.items():
            found = before.get(name)
            if found is not obj:
                yield Change(namespace, name, found, obj)
