"""The objects of one kind as the watch last told them, in memory.

Two faces: the `CacheWriter` is the watcher's alone, the `Cache` is everybody's and only reads. Promises of the two,
each tested:

- after a list the cache holds what was listed, and nothing of it shows before the last page is in
- an event that is older than what is held changes nothing, nor does one that brings a removed object back
- an object that is listed again unchanged is the same value as before, so a relist does not hold everything twice
- a list that is compared changes only what it shows to be wrong: what events have told since is newer than the list
- what is iterated is the state at that moment, whatever comes meanwhile
- an object that is there and does not fit is not absent: to ask for it by name is an error, and lists leave it out
- `await_version` returns when the cache has seen the newest own write to an object, and its deletion

What an object looks like is the reader's business: a small frozen struct of the fields it needs, with a name and a
version that the writer is told how to find, and how to tell whether it is one that was deleted. Objects lie by
namespace and then by name, so no tuple is kept for a key.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

from homeostat.runtime.cache.decoding import Unfit
from homeostat.runtime.cache.deletion import Deletion
from homeostat.runtime.cache.freshness import Freshness
from homeostat.runtime.cache.index import Index, Name
from homeostat.runtime.cache.unreadable import Unreadable

V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)
_EVERYTHING: Name = ("", "")
"""No object has this name."""
_Objects = dict[str, dict[str, V]]


class Change(NamedTuple, Generic[V_co]):
    """What became of one object: without `old` it is new, without `new` it is gone."""

    namespace: str
    name: str
    old: V_co | None
    new: V_co | None


class Cache(Generic[V]):
    """Reads only. Before the first list is whole (`is_synced`) an object that is not found may well exist."""

    def __init__(self, is_unseen: Callable[[Deletion, V], bool], unreadable: Unreadable | None = None) -> None:
        self.is_synced = False
        self._objects: _Objects[V] = {}
        self._count = 0
        self._indexes: dict[str, Index[V]] = {}
        self._freshness: Freshness[Name] = Freshness()
        self._deletions: dict[Name, Deletion] = {}
        self._is_unseen = is_unseen
        self._unreadable = unreadable or Unreadable()

    @property
    def version(self) -> int:
        """The resourceVersion of the newest list, event or bookmark."""
        return self._freshness.version

    @property
    def newest_known(self) -> int:
        """The newest version that was seen, or that the server gave to a write."""
        return max(self._freshness.version, self._freshness.told)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[V]:
        return iter([obj for each in self._objects.values() for obj in each.values()])

    def get(self, namespace: str, name: str) -> V | None:
        """None where there is no such object; `UnreadableError` where there is one that does not fit."""
        found = self._held(namespace, name)
        if found is None and (namespace, name) in self._unreadable.found:
            raise self._unreadable.error((namespace, name))
        return found

    def readable(self, namespace: str, name: str) -> V | None:
        """As lists show it: None also where there is one that does not fit, for who does not make what is absent."""
        return self._held(namespace, name)

    def knows(self, namespace: str, name: str) -> bool:
        """Whether there is such an object, fit or not."""
        return self._held(namespace, name) is not None or (namespace, name) in self._unreadable.found

    @property
    def unreadable(self) -> list[Unfit]:
        """The objects that are there and do not fit, which everything else leaves out."""
        return list(self._unreadable.found.values())

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

    async def reached(self, version: int) -> None:
        """Waits until everything up to this version was seen. The caller sets the timeout."""
        self._freshness.wrote(_EVERYTHING, version)
        await self.await_version(*_EVERYTHING)

    def _has_seen_deletion(self, key: Name) -> bool:
        """If so, it is forgotten."""
        held, unfit, deletion = self._held(*key), self._unreadable.found.get(key), self._deletions[key]
        if held is not None and self._is_unseen(deletion, held):
            return False
        if unfit is not None and unfit.version <= deletion.known:
            return False
        del self._deletions[key]
        return True

    def _held(self, namespace: str, name: str) -> V | None:
        objects = self._objects.get(namespace)
        return None if objects is None else objects.get(name)
