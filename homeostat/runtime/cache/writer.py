"""Fills a cache with what a watch tells: events one by one, lists as a whole. The watcher's alone.

A list is either the state, and replaces what is held; or it is compared with what is held, while events go on coming,
and mends only what no event has told since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from homeostat.runtime.cache.cache import Cache, Change
from homeostat.runtime.cache.decoding import Unfit
from homeostat.runtime.cache.deletion import Deletion
from homeostat.runtime.cache.index import Index, KeysOf, Name
from homeostat.runtime.cache.unreadable import Unreadable

V = TypeVar("V")
_Objects = dict[str, dict[str, V]]


class CacheWriter(Generic[V]):
    """Fills `cache`. Events come in the order in which the server sent them; one watch at a time."""

    def __init__(
        self,
        *,
        name_of: Callable[[V], Name],
        version_of: Callable[[V], int],
        is_unseen: Callable[[Deletion, V], bool],
        indexes: Mapping[str, KeysOf[V]] | None = None,
        unreadable: Unreadable | None = None,
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
        held = cache._held(namespace, name)
        if version < self._version_of(held) if held is not None else version <= cache.version:
            return None
        cache._freshness.advance(version)
        if held == obj:
            return None
        change = self._carry_out(Change(namespace, name, held, obj))
        if cache._unreadable.found:
            cache._unreadable.drop((namespace, name))
        return change

    def remove(self, obj: V) -> Change[V] | None:
        """DELETED, with the object as it last was; None where it is gone already or is another one by now."""
        cache = self.cache
        namespace, name = self._name_of(obj)
        version = self._version_of(obj)
        cache._freshness.advance(version)
        return self._end(namespace, name, version)

    def leave_out(self, unfit: Unfit) -> Change[V] | None:
        """What cannot be read is not shown, rather than shown as it was, but it is known to be there unless it is gone;
        None where nothing was shown, or it is newer and can be read.
        """
        namespace, name, version = unfit.namespace, unfit.name, unfit.version
        is_news = self._is_news(unfit)
        self.advance(version)
        if unfit.is_gone:
            return self._end(namespace, name, version)
        self._note_removal(namespace, name, version)
        if not is_news:
            return None
        held = self.cache._held(namespace, name)
        change = None if held is None else self._carry_out(Change(namespace, name, held, None))
        self._put_unreadable(unfit)
        return change

    def advance(self, version: int) -> None:
        """BOOKMARK: everything up to this version was sent."""
        self.cache._freshness.advance(version)

    def let_go(self) -> None:
        """The watch has ended for good: whoever waits for a write to be seen goes on without."""
        self.cache._deletions.clear()
        self.cache._freshness.let_go()

    def listing(self) -> Listing[V]:
        """A list that begins, and will be the state. One that is given up needs no farewell."""
        self._comparison = None
        return Listing(self, self._name_of)

    def comparison(self) -> Listing[V]:
        """A list that begins, to be compared with what is held then. One at a time, and none while the state is listed:
        the list that begins last is the one that counts.
        """
        self._comparison = Listing(self, self._name_of)
        return self._comparison

    def _is_news(self, unfit: Unfit) -> bool:
        held = self.cache._held(unfit.namespace, unfit.name)
        if held is not None:
            return unfit.version >= self._version_of(held)
        known = self.cache._unreadable.found.get((unfit.namespace, unfit.name))
        return unfit.version >= known.version if known is not None else unfit.version > self.cache.version

    def _end(self, namespace: str, name: str, version: int) -> Change[V] | None:
        self._note_removal(namespace, name, version)
        known = self.cache._unreadable.found.get((namespace, name))
        if known is not None and version >= known.version:
            self._drop_unreadable((namespace, name))
        held = self.cache._held(namespace, name)
        if held is None or version < self._version_of(held):
            return None
        return self._carry_out(Change(namespace, name, held, None))

    def _put_unreadable(self, unfit: Unfit) -> None:
        self.cache._unreadable.put(unfit)
        self._wake((unfit.namespace, unfit.name))

    def _drop_unreadable(self, name: Name) -> None:
        self.cache._unreadable.drop(name)
        self._wake(name)

    def _note_removal(self, namespace: str, name: str, version: int) -> None:
        if self._comparison is not None:
            self._comparison.removals[namespace, name] = version

    def _swap(self, listing: Listing[V], version: int) -> list[Change[V]]:
        cache = self.cache
        held, listed = cache._objects, listing.objects
        self._comparison = None
        self._forget(listing.deletions)
        cache._objects, cache._count = listed, sum(map(len, listed.values()))
        cache._freshness.restart(version)
        cache.is_synced = True
        changes = [self._changed(each) for each in _differences(held, listed)]
        self._hold_unreadable(cache._unreadable.found.keys() - listing.unfit.keys(), listing.unfit.values())
        return changes

    def _hold_unreadable(self, gone: Iterable[Name], there: Iterable[Unfit]) -> None:
        for name in gone:
            self._drop_unreadable(name)
        for unfit in there:
            self._put_unreadable(unfit)

    def _merge(self, listing: Listing[V], version: int) -> list[Change[V]]:
        if self._comparison is not listing:
            return []
        if version < listing.began:
            return self._swap(listing, version)
        self._comparison = None
        self._forget(listing.deletions)
        missed = [
            each
            for each in _differences(self.cache._objects, listing.objects)
            if not self._is_newer(each, version, listing.removals)
        ]
        self.advance(version)
        changes = [self._carry_out(each) for each in missed]
        known = self.cache._unreadable.found
        gone = [name for name, each in known.items() if name not in listing.unfit and each.version <= version]
        self._hold_unreadable(
            gone, [each for each in listing.unfit.values() if self._is_missed(each, version, listing)]
        )
        return changes

    def _is_missed(self, unfit: Unfit, version: int, listing: Listing[V]) -> bool:
        """Whether the list alone tells of it. What is held after the merge is newer than the list."""
        name = (unfit.namespace, unfit.name)
        known = self.cache._unreadable.found.get(name)
        is_newer = known.version > version if known is not None else listing.removals.get(name, 0) > version
        return not is_newer and self.cache._held(*name) is None

    def _is_newer(self, change: Change[V], version: int, removals: Mapping[Name, int]) -> bool:
        """Whether what is held, or that nothing is, was told by an event after the version of the list."""
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


class Listing(Generic[V]):
    """A list on its way in, page by page or as the initial events of a watch."""

    def __init__(self, writer: CacheWriter[V], name_of: Callable[[V], Name]) -> None:
        self._writer, self._name_of = writer, name_of
        self.began = writer.version
        self._held = writer.cache._objects
        self.objects: _Objects[V] = {}
        self.unfit: dict[Name, Unfit] = {}
        self.removals: dict[Name, int] = {}
        """What events have told to be gone while this was compared, and the version of that."""
        self.deletions = dict(writer.cache._deletions)
        """Carried out before the list was asked for, so the list is right about them, whatever it says."""

    def put(self, obj: V) -> None:
        namespace, name = self._name_of(obj)
        held = self._held.get(namespace)
        found = None if held is None else held.get(name)
        self.objects.setdefault(namespace, {})[name] = found if found is not None and found == obj else obj
        if self.unfit:
            self.unfit.pop((namespace, name), None)

    def leave_out(self, unfit: Unfit) -> None:
        """It is not shown, also where an earlier version was put, but it is known to be there."""
        namespace, name = unfit.namespace, unfit.name
        self.unfit[namespace, name] = unfit
        objects = self.objects.get(namespace, {})
        if objects.pop(name, None) is not None and not objects:
            del self.objects[namespace]

    def swap(self, version: int) -> list[Change[V]]:
        """The list is whole: it becomes the state of the cache, and what differs from the one before is returned.

        The list is taken at its word, even where it is older than what was held: who lists asks for the newest.
        """
        return self._writer._swap(self, version)

    def merge(self, version: int) -> list[Change[V]]:
        """The list is whole, and events have come beside it: what differs and is no newer than the list is mended and
        returned. Nothing is where another list has begun since.

        A list older than what was held when it was asked for is of a server that was put back: that one is the state.
        """
        return self._writer._merge(self, version)


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
