"""A list of all objects that is being received for a cache, and the differences between two states.

Readers see nothing of a list before it is complete. For an unchanged object the list takes the value of the cache, so a
relist does not need the memory of all objects twice.
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
    """A change of one object. `old` is None for a created object, `new` is None for a deleted one."""

    namespace: str
    name: str
    old: V_co | None
    new: V_co | None


class End(Protocol[V]):
    """Takes complete lists: the writer of a cache."""

    def swap(self, listing: Listing[V], version: int) -> list[Change[V]]: ...

    def merge(self, listing: Listing[V], version: int) -> list[Change[V]]: ...


class Listing(Generic[V]):
    """A list that arrives page by page, or as the initial events of a watch."""

    def __init__(
        self, end: End[V], name_of: Callable[[V], Name], *, version: int, cached: Objects[V], deletions: Deletions
    ) -> None:
        self._end, self._name_of, self._cached = end, name_of, cached
        self.began = version
        """The newest version that the cache had seen before."""
        self.deletions = deletions
        """Deletions before the list was requested. The list has seen them: an object that it has was created later."""
        self.objects: Objects[V] = {}
        self.unreadable: dict[Name, UnreadableObject] = {}
        self.removals: dict[Name, int] = {}
        """Objects that events removed while this list was received, with the version of the event."""

    def put(self, obj: V) -> None:
        namespace, name = self._name_of(obj)
        cached = self._cached.get(namespace)
        found = None if cached is None else cached.get(name)
        self.objects.setdefault(namespace, {})[name] = found if found is not None and found == obj else obj
        if self.unreadable:
            self.unreadable.pop((namespace, name), None)

    def leave_out(self, unreadable: UnreadableObject) -> None:
        """The object exists and is unreadable; it replaces a readable version on an earlier page."""
        namespace, name = unreadable.namespace, unreadable.name
        self.unreadable[namespace, name] = unreadable
        objects = self.objects.get(namespace, {})
        if objects.pop(name, None) is not None and not objects:
            del self.objects[namespace]

    def swap(self, version: int) -> list[Change[V]]:
        """The list is complete and becomes the state of the cache; returns the differences to the state before.

        This holds also for a list that is older than the cache, because it was requested at the newest version.
        """
        return self._end.swap(self, version)

    def merge(self, version: int) -> list[Change[V]]:
        """The list is complete, and events have arrived meanwhile: corrects and returns the differences that are not
        newer than the list. Does nothing if another list was started since.

        If the list is older than the cache was at the request, the server was restored from a backup: the list
        becomes the state.
        """
        return self._end.merge(self, version)


def differences(old: Objects[V], new: Objects[V]) -> Iterable[Change[V]]:
    """Removed objects come first. Identical values do not differ."""
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
