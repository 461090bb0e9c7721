"""The objects of one kind as the watch last told them, in memory.

Two faces: the `CacheWriter` is the watcher's alone, the `Cache` is everybody's and only reads. Promises, each tested:

- after a list the cache holds what was listed, and nothing of it shows before the last page is in
- an event that is older than what is held changes nothing, nor does one that brings a removed object back
- an object that is listed again unchanged is the same value as before, so a relist does not hold everything twice
- what is iterated is the state at that moment, whatever comes meanwhile
- `await_version` returns when the cache has seen the newest own write to an object, and its deletion

What an object looks like is the reader's business: a small frozen struct of the fields it needs, with a name and a
version that the writer is told how to find, and how to tell whether it is one that was deleted. Objects lie by
namespace and then by name, so no tuple is kept for a key.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

from homeostat.runtime.deletion import Deletion
from homeostat.runtime.freshness import Freshness
from homeostat.runtime.index import Index, KeysOf, Name

V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)
_Objects = dict[str, dict[str, V]]


class Change(NamedTuple, Generic[V_co]):
    """What became of one object: without `old` it is new, without `new` it is gone."""

    namespace: str
    name: str
    old: V_co | None
    new: V_co | None


class Cache(Generic[V]):
    """Reads only. Before the first list is whole (`is_synced`) an object that is not found may well exist."""

    def __init__(self, is_unseen: Callable[[Deletion, V], bool]) -> None:
        self.is_synced = False
        self._objects: _Objects[V] = {}
        self._count = 0
        self._indexes: dict[str, Index[V]] = {}
        self._freshness: Freshness[Name] = Freshness()
        self._deletions: dict[Name, Deletion] = {}
        self._is_unseen = is_unseen

    @property
    def version(self) -> int:
        """The resourceVersion of the newest list, event or bookmark."""
        return self._freshness.version

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[V]:
        return iter([obj for each in self._objects.values() for obj in each.values()])

    def get(self, namespace: str, name: str) -> V | None:
        objects = self._objects.get(namespace)
        return None if objects is None else objects.get(name)

    def names(self) -> list[Name]:
        return [(namespace, name) for namespace, each in self._objects.items() for name in each]

    def in_namespace(self, namespace: str) -> list[V]:
        return list(self._objects.get(namespace, {}).values())

    def indexed(self, index: str, key: Hashable) -> list[V]:
        """The objects that the index has under the key."""
        return [self._objects[namespace][name] for namespace, name in self._indexes[index].names(key)]

    def indexed_names(self, index: str, key: Hashable) -> list[Name]:
        return list(self._indexes[index].names(key))

    def wrote(self, namespace: str, name: str, version: int) -> None:
        """Tells that the server answered a write to this object with this version; 0 or an old one says nothing."""
        self._freshness.wrote((namespace, name), version)

    def deleted(self, namespace: str, name: str, deletion: Deletion) -> None:
        """Tells that the server has carried out a deletion of this object."""
        self._deletions[namespace, name] = deletion

    def is_behind(self, namespace: str, name: str) -> bool:
        """Whether the object was written or deleted since what the cache knows of it."""
        key = (namespace, name)
        # What is held may be older than a write before the deletion: then the deleted one has yet to come.
        return self._freshness.is_behind(key) or (key in self._deletions and not self._has_seen_deletion(key))

    async def await_version(self, namespace: str, name: str) -> None:
        """Waits until the newest write told of this object, or its deletion, was seen. The caller sets the timeout."""
        while self.is_behind(namespace, name):
            await self._freshness.news((namespace, name))

    def _has_seen_deletion(self, key: Name) -> bool:
        """If so, it is forgotten."""
        held = self.get(*key)
        if held is not None and self._is_unseen(self._deletions[key], held):
            return False
        del self._deletions[key]
        return True


class CacheWriter(Generic[V]):
    """Fills `cache`. Events come in the order in which the server sent them; one watch at a time."""

    def __init__(
        self,
        *,
        name_of: Callable[[V], Name],
        version_of: Callable[[V], int],
        is_unseen: Callable[[Deletion, V], bool],
        indexes: Mapping[str, KeysOf[V]] | None = None,
    ) -> None:
        self.cache: Cache[V] = Cache(is_unseen)
        self._name_of, self._version_of = name_of, version_of
        for index, keys_of in (indexes or {}).items():
            self.add_index(index, keys_of)

    @property
    def version(self) -> int:
        return self.cache.version

    def add_index(self, index: str, keys_of: KeysOf[V]) -> None:
        """At any time: what is held is indexed at once."""
        if index in self.cache._indexes:
            raise ValueError(f'the cache has an index "{index}" already; give this one another name')
        made = self.cache._indexes[index] = Index(keys_of)
        for namespace, objects in self.cache._objects.items():
            for name, obj in objects.items():
                made.move((namespace, name), None, obj)

    def put(self, obj: V) -> Change[V] | None:
        """ADDED or MODIFIED; None where it tells nothing new."""
        cache = self.cache
        namespace, name = self._name_of(obj)
        version = self._version_of(obj)
        held = cache.get(namespace, name)
        if version < self._version_of(held) if held is not None else version <= cache.version:
            return None
        cache._freshness.advance(version)
        if held == obj:
            return None
        if held is None:
            cache._count += 1
        cache._objects.setdefault(namespace, {})[name] = obj
        return self._changed(Change(namespace, name, held, obj))

    def remove(self, obj: V) -> Change[V] | None:
        """DELETED, with the object as it last was; None where it is gone already or is another one by now."""
        cache = self.cache
        namespace, name = self._name_of(obj)
        version = self._version_of(obj)
        cache._freshness.advance(version)
        held = cache.get(namespace, name)
        if held is None or version < self._version_of(held):
            return None
        objects = cache._objects[namespace]
        del objects[name]
        if not objects:
            del cache._objects[namespace]
        cache._count -= 1
        return self._changed(Change(namespace, name, held, None))

    def leave_out(self, namespace: str, name: str, version: int) -> Change[V] | None:
        """What cannot be read is not shown, rather than shown as it was."""
        self.advance(version)
        held = self.cache.get(namespace, name)
        return None if held is None else self.remove(held)

    def advance(self, version: int) -> None:
        """BOOKMARK: everything up to this version was sent."""
        self.cache._freshness.advance(version)

    def let_go(self) -> None:
        """The watch has ended for good: whoever waits for a write to be seen goes on without."""
        self.cache._deletions.clear()
        self.cache._freshness.let_go()

    def listing(self) -> Listing[V]:
        """A list that begins. One that is given up needs no farewell."""
        return Listing(self, self._name_of)

    def _swap(self, listed: _Objects[V], version: int, deletions: Mapping[Name, Deletion]) -> list[Change[V]]:
        cache = self.cache
        held = cache._objects
        for key, deletion in deletions.items():
            if cache._deletions.get(key) == deletion:
                del cache._deletions[key]
                cache._freshness.wake(key)
        cache._objects, cache._count = listed, sum(map(len, listed.values()))
        cache._freshness.restart(version)
        cache.is_synced = True
        return [self._changed(each) for each in _differences(held, listed)]

    def _changed(self, change: Change[V]) -> Change[V]:
        for index in self.cache._indexes.values():
            index.move((change.namespace, change.name), change.old, change.new)
        if self.cache._deletions and not self.cache.is_behind(change.namespace, change.name):
            self.cache._freshness.wake((change.namespace, change.name))
        return change


class Listing(Generic[V]):
    """A list on its way in, page by page or as the initial events of a watch."""

    def __init__(self, writer: CacheWriter[V], name_of: Callable[[V], Name]) -> None:
        self._writer, self._name_of = writer, name_of
        self._held = writer.cache._objects
        self._listed: _Objects[V] = {}
        # Carried out before the list was asked for, so the list is right about them, whatever it says.
        self._deletions = dict(writer.cache._deletions)

    def put(self, obj: V) -> None:
        namespace, name = self._name_of(obj)
        held = self._held.get(namespace)
        found = None if held is None else held.get(name)
        self._listed.setdefault(namespace, {})[name] = found if found is not None and found == obj else obj

    def leave_out(self, namespace: str, name: str) -> None:
        """What was not put is not shown."""

    def swap(self, version: int) -> list[Change[V]]:
        """The list is whole: it becomes the state of the cache, and what differs from the one before is returned.

        The list is taken at its word, even where it is older than what was held: who lists asks for the newest.
        """
        return self._writer._swap(self._listed, version, self._deletions)


def _differences(old: _Objects[V], new: _Objects[V]) -> Iterable[Change[V]]:
    """What is gone comes first. Values that are the same one do not differ."""
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
