"""The objects of one kind in memory, as the watch last reported them.

Only the watcher writes, through the `CacheWriter`; everybody else reads the `Cache`. A list (`listing.py`) either
replaces the content of the cache, or is compared with it while events arrive; then it corrects only objects that no
later event has changed. Promises, each tested:

- after a list the cache holds the listed objects; readers see none of them before the last page has arrived
- an event changes nothing if it is older than the cached object, or if it would bring back a removed one
- an unchanged object keeps its value in a relist, so a relist does not need the memory of all objects twice
- a compared list corrects only what is wrong: later events are newer than the list
- iterating yields the state at that moment; events that arrive meanwhile do not affect it
- an unreadable object is not absent: getting it by name is an error, and lists omit it
- `await_version` returns when the cache has seen the newest own write to an object, and its deletion

The reader chooses the shape of an object: a small frozen struct of the fields it needs. The writer is given functions
for its name, its version, and whether a deletion shows in it. Objects are kept by namespace and then by name, so no
tuple is kept for a key.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from homeostat.runtime.cache.decoding import UnreadableObject
from homeostat.runtime.cache.freshness import Deletion, Freshness
from homeostat.runtime.cache.index import Index, KeysOf, Name
from homeostat.runtime.cache.listing import Change, Deletions, Listing, Objects, differences
from homeostat.runtime.cache.unreadable import UnreadableObjects

__all__ = ["Cache", "CacheWriter", "Change"]

V = TypeVar("V")
_EVERYTHING: Name = ("", "")
"""No object has this name."""


class Cache(Generic[V]):
    """Read-only. Before the first list is complete (`is_synced`), an object may exist although it is not found."""

    def __init__(self, is_unseen: Callable[[Deletion, V], bool], unreadable: UnreadableObjects | None = None) -> None:
        self.is_synced = False
        self._objects: Objects[V] = {}
        self._count = 0
        self._indexes: dict[str, Index[V]] = {}
        self._freshness: Freshness[Name] = Freshness()
        self._deletions: Deletions = {}
        self._is_unseen = is_unseen
        self._unreadable = unreadable or UnreadableObjects()

    @property
    def version(self) -> int:
        """The resourceVersion of the newest list, event or bookmark."""
        return self._freshness.version

    @property
    def newest_known(self) -> int:
        """The newest version that was seen, or that the server gave to a write."""
        return max(self._freshness.version, self._freshness.written)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[V]:
        return iter([obj for each in self._objects.values() for obj in each.values()])

    def get(self, namespace: str, name: str) -> V | None:
        """None if there is no such object; `UnreadableError` for an unreadable one."""
        found = self._cached(namespace, name)
        if found is None and (namespace, name) in self._unreadable.found:
            raise self._unreadable.error((namespace, name))
        return found

    def readable(self, namespace: str, name: str) -> V | None:
        """As `get`, but None for an unreadable object: for readers that do not create absent objects."""
        return self._cached(namespace, name)

    def knows(self, namespace: str, name: str) -> bool:
        """Whether such an object exists, readable or not."""
        return self._cached(namespace, name) is not None or (namespace, name) in self._unreadable.found

    @property
    def unreadable(self) -> list[UnreadableObject]:
        """The unreadable objects, which lists omit."""
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
        """Notes that the server answered a write to this object with this version; 0 or an older version is ignored."""
        self._freshness.wrote((namespace, name), version)

    def deleted(self, namespace: str, name: str, deletion: Deletion) -> None:
        """Notes that the server has carried out a deletion of this object."""
        self._deletions[namespace, name] = deletion

    def is_behind(self, namespace: str, name: str) -> bool:
        """Whether we wrote or deleted the object and the cache has not seen that yet."""
        key = (namespace, name)
        # The cached object may be older than a write before the deletion; the deleted version is still to arrive.
        return self._freshness.is_behind(key) or (key in self._deletions and not self._has_seen_deletion(key))

    async def await_version(self, namespace: str, name: str) -> None:
        """Waits until the newest write to this object, or its deletion, was seen. The caller sets the timeout."""
        while self.is_behind(namespace, name):
            await self._freshness.changed((namespace, name))

    async def reached(self, version: int) -> None:
        """Waits until everything up to this version was seen. The caller sets the timeout."""
        self._freshness.wrote(_EVERYTHING, version)
        await self.await_version(*_EVERYTHING)

    def _has_seen_deletion(self, key: Name) -> bool:
        """Forgets the deletion if it was seen."""
        cached, unreadable, deletion = self._cached(*key), self._unreadable.found.get(key), self._deletions[key]
        if cached is not None and self._is_unseen(deletion, cached):
            return False
        if unreadable is not None and unreadable.version <= deletion.known:
            return False
        del self._deletions[key]
        return True

    def _cached(self, namespace: str, name: str) -> V | None:
        objects = self._objects.get(namespace)
        return None if objects is None else objects.get(name)


class CacheWriter(Generic[V]):
    """Fills `cache` from one watch at a time, with events in the order of the server."""

    def __init__(
        self,
        *,
        name_of: Callable[[V], Name],
        version_of: Callable[[V], int],
        is_unseen: Callable[[Deletion, V], bool],
        indexes: Mapping[str, KeysOf[V]] | None = None,
        unreadable: UnreadableObjects | None = None,
    ) -> None:
        self.cache: Cache[V] = Cache(is_unseen, unreadable)
        self._name_of, self._version_of = name_of, version_of
        self._comparison: Listing[V] | None = None
        for index, keys_of in (indexes or {}).items():
            self.add_index(index, keys_of)

    @property
    def version(self) -> int:
        return self.cache.version

    def add_index(self, index: str, keys_of: KeysOf[V]) -> None:
        """May be called at any time: the cached objects are indexed at once."""
        if index in self.cache._indexes:
            raise ValueError(f'the cache has an index "{index}" already; give this one another name')
        made = self.cache._indexes[index] = Index(keys_of)
        for namespace, objects in self.cache._objects.items():
            for name, obj in objects.items():
                made.move((namespace, name), None, obj)

    def put(self, obj: V) -> Change[V] | None:
        """ADDED or MODIFIED; returns None if nothing changed."""
        cache = self.cache
        namespace, name = self._name_of(obj)
        version = self._version_of(obj)
        cached = cache._cached(namespace, name)
        if version < self._version_of(cached) if cached is not None else version <= cache.version:
            return None
        cache._freshness.advance(version)
        if cached == obj:
            return None
        change = self._carry_out(Change(namespace, name, cached, obj))
        if cache._unreadable.found:
            cache._unreadable.drop((namespace, name))
        return change

    def remove(self, obj: V) -> Change[V] | None:
        """DELETED, with the last state; returns None if the object is already removed or replaced."""
        cache = self.cache
        namespace, name = self._name_of(obj)
        version = self._version_of(obj)
        cache._freshness.advance(version)
        return self._end(namespace, name, version)

    def leave_out(self, unreadable: UnreadableObject) -> Change[V] | None:
        """Replaces the object by the fact that it is unreadable, or removes it if it was deleted. Returns None if
        readers did not see the object, or if they see a newer version.
        """
        namespace, name, version = unreadable.namespace, unreadable.name, unreadable.version
        is_newer = self._is_newer_than_known(unreadable)
        self.advance(version)
        if unreadable.is_gone:
            return self._end(namespace, name, version)
        self._note_removal(namespace, name, version)
        if not is_newer:
            return None
        cached = self.cache._cached(namespace, name)
        change = None if cached is None else self._carry_out(Change(namespace, name, cached, None))
        self._put_unreadable(unreadable)
        return change

    def advance(self, version: int) -> None:
        """BOOKMARK: the server has sent everything up to this version."""
        self.cache._freshness.advance(version)

    def release(self) -> None:
        """The watch has ended for good: nobody waits for it any longer."""
        self.cache._deletions.clear()
        self.cache._freshness.release()

    def listing(self) -> Listing[V]:
        """Starts a list that will replace the state. It may be abandoned without a call."""
        self._comparison = None
        return self._listing()

    def comparison(self) -> Listing[V]:
        """Starts a list that will be compared with the state. Of several lists, only the one that was started last
        counts.
        """
        self._comparison = self._listing()
        return self._comparison

    def _listing(self) -> Listing[V]:
        cache = self.cache
        deletions = dict(cache._deletions)
        return Listing(self, self._name_of, version=cache.version, cached=cache._objects, deletions=deletions)

    def _is_newer_than_known(self, unreadable: UnreadableObject) -> bool:
        cached = self.cache._cached(unreadable.namespace, unreadable.name)
        if cached is not None:
            return unreadable.version >= self._version_of(cached)
        known = self.cache._unreadable.found.get((unreadable.namespace, unreadable.name))
        return unreadable.version >= known.version if known is not None else unreadable.version > self.cache.version

    def _end(self, namespace: str, name: str, version: int) -> Change[V] | None:
        self._note_removal(namespace, name, version)
        known = self.cache._unreadable.found.get((namespace, name))
        if known is not None and version >= known.version:
            self._drop_unreadable((namespace, name))
        cached = self.cache._cached(namespace, name)
        if cached is None or version < self._version_of(cached):
            return None
        return self._carry_out(Change(namespace, name, cached, None))

    def _put_unreadable(self, unreadable: UnreadableObject) -> None:
        self.cache._unreadable.put(unreadable)
        self._wake((unreadable.namespace, unreadable.name))

    def _drop_unreadable(self, name: Name) -> None:
        self.cache._unreadable.drop(name)
        self._wake(name)

    def _note_removal(self, namespace: str, name: str, version: int) -> None:
        if self._comparison is not None:
            self._comparison.removals[namespace, name] = version

    def swap(self, listing: Listing[V], version: int) -> list[Change[V]]:
        cache = self.cache
        cached, listed = cache._objects, listing.objects
        self._comparison = None
        self._forget(listing.deletions)
        cache._objects, cache._count = listed, sum(map(len, listed.values()))
        cache._freshness.restart(version)
        cache.is_synced = True
        changes = [self._changed(each) for each in differences(cached, listed)]
        self._hold_unreadable(cache._unreadable.found.keys() - listing.unreadable.keys(), listing.unreadable.values())
        return changes

    def _hold_unreadable(self, gone: Iterable[Name], there: Iterable[UnreadableObject]) -> None:
        for name in gone:
            self._drop_unreadable(name)
        for unreadable in there:
            self._put_unreadable(unreadable)

    def merge(self, listing: Listing[V], version: int) -> list[Change[V]]:
        if self._comparison is not listing:
            return []
        if version < listing.began:
            return self.swap(listing, version)
        self._comparison = None
        self._forget(listing.deletions)
        missed = [
            each
            for each in differences(self.cache._objects, listing.objects)
            if not self._is_newer(each, version, listing.removals)
        ]
        self.advance(version)
        changes = [self._carry_out(each) for each in missed]
        known = self.cache._unreadable.found
        gone = [name for name, each in known.items() if name not in listing.unreadable and each.version <= version]
        self._hold_unreadable(
            gone, [each for each in listing.unreadable.values() if self._is_missed(each, version, listing)]
        )
        return changes

    def _is_missed(self, unreadable: UnreadableObject, version: int, listing: Listing[V]) -> bool:
        """Whether only the list has it. What the cache holds after the merge is newer than the list."""
        name = (unreadable.namespace, unreadable.name)
        known = self.cache._unreadable.found.get(name)
        is_newer = known.version > version if known is not None else listing.removals.get(name, 0) > version
        return not is_newer and self.cache._cached(*name) is None

    def _is_newer(self, change: Change[V], version: int, removals: Mapping[Name, int]) -> bool:
        """Whether an event after the version of the list set or removed the object."""
        if change.old is None:
            return removals.get((change.namespace, change.name), 0) > version
        return change.old == change.new or self._version_of(change.old) > version

    def _forget(self, deletions: Mapping[Name, Deletion]) -> None:
        for key, deletion in deletions.items():
            if self.cache._deletions.get(key) == deletion:
                del self.cache._deletions[key]
                self.cache._freshness.wake(key)

    def _carry_out(self, change: Change[V]) -> Change[V]:
        namespace, name, old, new = change
        objects = self.cache._objects.setdefault(namespace, {})
        if new is not None:
            objects[name] = new
        else:
            del objects[name]
            if not objects:
                del self.cache._objects[namespace]
        self.cache._count += (new is not None) - (old is not None)
        return self._changed(change)

    def _changed(self, change: Change[V]) -> Change[V]:
        for index in self.cache._indexes.values():
            index.move((change.namespace, change.name), change.old, change.new)
        self._wake((change.namespace, change.name))
        return change

    def _wake(self, name: Name) -> None:
        if self.cache._deletions and not self.cache.is_behind(*name):
            self.cache._freshness.wake(name)
