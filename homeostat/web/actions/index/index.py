"""An in-memory index of all resource types and resources, kept current by watches. Lists, events and pages use it.

    index = ResourceIndex(client, namespace="default")
    stop = index.subscribe(lambda change: ...)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(index.run())
        await index.synced()
        index.find(1)                                  # a resource by its number
        index.find_named("DatabaseCluster", "v1", "production-pg")
        index.newest(before=0)                         # all resources, newest first
        index.types()                                  # by name, then version

The resources of a type are watched as long as the type exists. Promises, each tested:

- an `IndexedResource` has everything that its body needs (`bodies.py`), so a list makes no request
- a handler gets every change after the index has it, in the server's order for each kind; it does no I/O and does not
  raise; a handler that subscribes before `synced` gets all existing resources, a later one does not
- an object without a number, or with the number of another object, is in `unnumbered` and not listed until it has one
- after `await_write` the index has the write
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, Never

from homeostat.client.base import Client
from homeostat.objects.kind import Kind
from homeostat.operators.actions.api import RESOURCE_TYPE
from homeostat.operators.actions.types.definition import version_priority
from homeostat.operators.actions.types.naming import kind_name, kind_of_type, plural_of, version_name
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer, Informers
from homeostat.runtime.watch.source import Source
from homeostat.web.actions.index.changes import (
    IndexedResource,
    ResourceChange,
    Series,
    Unnumbered,
    unnumbered,
    unnumbered_type,
)
from homeostat.web.actions.index.entry import Entry, TypeEntry
from homeostat.web.actions.type_facts import age_of, identity_of, is_defined, is_settled, kind_of
from homeostat.web.kit.records.numbered import Numbered

_SEEN_WITHIN_S: Final = 2.0


ChangeHandler = Callable[[ResourceChange], None]


class ResourceIndex:
    """The index of one namespace."""

    def __init__(self, client: Client, *, namespace: str) -> None:
        self.namespace = namespace
        self._informers = Informers(client)
        self._types = self._informers.get(Source(RESOURCE_TYPE.kind.path("")), TypeEntry)
        self._followed: dict[str, _Followed] = {}
        self._resources: Numbered[IndexedResource] = Numbered()
        self._numbered_types: Numbered[TypeEntry] = Numbered()
        self._declared_at: dict[str, int] = {}
        self._handlers: tuple[ChangeHandler, ...] = ()
        self._type_changed = asyncio.Event()
        self.unnumbered: dict[str, Unnumbered] = {}
        """Objects that need a number, by uid."""
        self.wants_numbers = asyncio.Event()
        self._types.add_handler(self._note_type)

    async def run(self) -> Never:
        await self._informers.run()

    async def synced(self) -> None:
        """Returns when all existing objects are in the index. The caller sets the timeout."""
        await self._types.synced()
        await self._informers.synced()

    @property
    def is_synced(self) -> bool:
        return all(each.cache.is_synced for each in self._informers)

    def subscribe(self, handler: ChangeHandler) -> Callable[[], None]:
        """Returns a function that ends the subscription."""
        self._handlers = (*self._handlers, handler)

        def unsubscribe() -> None:
            self._handlers = tuple(each for each in self._handlers if each is not handler)

        return unsubscribe

    def types(self) -> list[TypeEntry]:
        return sorted(self._types.cache, key=lambda each: (each.spec.name, each.spec.version))

    def find_type(self, number: int) -> TypeEntry | None:
        return self._numbered_types.get(number)

    def type_named(self, name: str, version: str) -> TypeEntry | None:
        """Returns the oldest one with this name and version; the others are not in force."""
        same = [each for each in self._types.cache if (each.spec.name, each.spec.version) == (name, version)]
        return min(same, key=age_of) if same else None

    def same_kind(self, name: str, version: str) -> TypeEntry | None:
        """Returns a type that conflicts with a new type of this name and version."""
        wanted = self.kind_named(name), version_name(version)
        found = (each for each in self._types.cache if identity_of(each) == wanted)
        return next(found, None)

    def kind_named(self, type_name: str) -> str:
        """Returns the kind of the type with this name; the derived one if there is no such type."""
        found = next((each for each in self._types.cache if each.spec.name == type_name), None)
        return kind_of_type(found.spec) if found is not None else kind_name(type_name)

    def is_served(self, resource_type: TypeEntry) -> bool:
        """Its newest generation is established, and its resources are watched."""
        followed = self._followed.get(kind_of_type(resource_type.spec))
        return followed is not None and followed.informer.cache.is_synced and is_settled(resource_type)

    async def comes_to(self, until: Callable[[], bool], within_s: float) -> bool:
        """Waits until a condition on types holds; it is checked whenever a type changes. Returns whether it holds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while not until():
                    self._type_changed.clear()
                    # The end of a resource list is not a change of a type, so the condition is also polled.
                    with suppress(TimeoutError):
                        async with asyncio.timeout(0.05):
                            await self._type_changed.wait()
        return until()

    def find(self, number: int) -> IndexedResource | None:
        return self._resources.get(number)

    def find_named(self, type_name: str, type_version: str, name: str) -> IndexedResource | None:
        followed = self._followed.get(self.kind_named(type_name))
        entry = followed.informer.cache.get(self.namespace, name) if followed is not None else None
        if followed is None or entry is None:
            return None
        indexed = IndexedResource(followed.kind, entry)
        resource_type = self.type_of(indexed)
        is_meant = resource_type is not None and resource_type.spec.version == type_version
        return indexed if is_meant else None

    def newest(self, *, before: int = 0) -> Iterator[IndexedResource]:
        return self._resources.newest(before=before)

    def snapshot(self) -> list[IndexedResource]:
        """Returns all resources of this moment, newest first."""
        return self._resources.snapshot()

    def of_type(self, resource_type: TypeEntry) -> list[IndexedResource]:
        """Returns the resources of a type, also those without a number."""
        followed = self._followed.get(kind_of_type(resource_type.spec))
        indexed = (
            [IndexedResource(followed.kind, each) for each in followed.informer.cache] if followed is not None else []
        )
        uid = resource_type.metadata.uid
        return [each for each in indexed if (found := self.type_of(each)) is not None and found.metadata.uid == uid]

    def type_of(self, indexed: IndexedResource) -> TypeEntry | None:
        """Returns the type that the resource was declared with; default: the newest of its kind."""
        followed = self._followed.get(indexed.kind.kind)
        return followed.type_of(indexed.entry) if followed is not None else None

    def kinds(self) -> list[Kind]:
        """Returns the kinds whose resources are watched."""
        return [each.kind for each in self._followed.values()]

    def reached(self) -> dict[str, int]:
        """Returns the revision that the index has reached for each kind of resource, and under "" for types."""
        return {"": self._types.cache.version, **{kind: each.reached for kind, each in self._followed.items()}}

    def is_followed(self, resource_type: TypeEntry) -> bool:
        """Its resources are watched at its version."""
        followed = self._followed.get(kind_of_type(resource_type.spec))
        return followed is not None and version_name(resource_type.spec.version) in followed.types

    def plural_of(self, type_name: str, type_version: str) -> str:
        """Returns the plural of a type's kind."""
        found = self.type_named(type_name, type_version)
        return kind_of(found).plural if found is not None else plural_of(self.kind_named(type_name))

    def has_name(self, resource_type: TypeEntry, name: str) -> bool:
        """Returns whether a resource of the type, of any version, has the name."""
        followed = self._followed.get(kind_of_type(resource_type.spec))
        return followed is not None and followed.informer.cache.knows(self.namespace, name)

    def declared_at(self, uid: str) -> int:
        """Returns the resource version of the last change of the declaration, as far as the index knows."""
        return self._declared_at.get(uid, 0)

    def is_taken(self, series: Series, number: int) -> bool:
        return self._series(series).get(number) is not None

    def highest(self, series: Series) -> int:
        """The highest number in use."""
        return self._series(series).highest

    def _series(self, series: Series) -> Numbered[IndexedResource] | Numbered[TypeEntry]:
        match series:
            case "resources":
                return self._resources
            case "types":
                return self._numbered_types

    async def await_write(self, name: str, version: str, resource_type: TypeEntry | None = None) -> None:
        """Returns when the index has a write of a type or, with `resource_type`, of a resource, by the resource version
        of the answer; or after some seconds.
        """
        informer: Informer[TypeEntry] | Informer[Entry] = self._types
        if resource_type is not None:
            followed = self._followed.get(kind_of_type(resource_type.spec))
            if followed is None:
                return
            informer = followed.informer
        namespace = self.namespace if resource_type is not None else ""
        informer.cache.wrote(namespace, name, int(version))
        with suppress(TimeoutError):
            async with asyncio.timeout(_SEEN_WITHIN_S):
                await informer.cache.await_version(namespace, name)

    def _note_type(self, change: Change[TypeEntry]) -> None:
        former = 0
        if change.old is not None:
            number, uid = change.old.number, change.old.metadata.uid
            self._numbered_types.remove(number, uid)
            former = self._former(uid, number)
        if change.new is not None:
            number, uid = change.new.number, change.new.metadata.uid
            if number:
                self._numbered_types.put(number, uid, age_of(change.new), change.new)
            else:
                self._require_number(unnumbered_type(change.new, former))
            for each in self._numbered_types.disputed(number):
                self._require_number(unnumbered_type(each))
        self._update_watches()
        self._type_changed.set()

    def _former(self, uid: str, number: int) -> int:
        """Returns the last number of an object, perhaps of an older version of it."""
        wanted = self.unnumbered.pop(uid, None)
        return number or (wanted.former if wanted is not None else 0)

    def _require_number(self, wanted: Unnumbered) -> None:
        self.unnumbered[wanted.uid] = wanted
        self.wants_numbers.set()

    def _update_watches(self) -> None:
        by_kind: dict[str, dict[str, TypeEntry]] = {}
        for each in sorted(self._types.cache, key=age_of, reverse=True):
            if is_defined(each):
                by_kind.setdefault(kind_of_type(each.spec), {})[version_name(each.spec.version)] = each
        for kind, followed in list(self._followed.items()):
            if kind not in by_kind or followed.kind not in map(kind_of, by_kind[kind].values()):
                self._leave(kind, followed)
        for kind, types in by_kind.items():
            if kind not in self._followed:
                self._follow(kind, types)
            self._followed[kind].arrange(types)

    def _follow(self, kind: str, types: dict[str, TypeEntry]) -> None:
        newest = types[max(types, key=version_priority)]
        where = kind_of(newest)
        informer = self._informers.get(Source(where.path(self.namespace)), Entry)
        followed = self._followed[kind] = _Followed(where, informer, types)
        informer.add_handler(lambda change: self._note(followed, change))

    def _leave(self, kind: str, followed: _Followed) -> None:
        entries = list(followed.informer.cache)
        self._informers.drop(followed.informer)
        for each in entries:
            self._note(followed, Change(each.metadata.namespace, each.metadata.name, each, None))
        del self._followed[kind]

    def _note(self, followed: _Followed, change: Change[Entry]) -> None:
        old = IndexedResource(followed.kind, change.old) if change.old is not None else None
        new = IndexedResource(followed.kind, change.new) if change.new is not None else None
        former = 0
        if old is not None:
            number, uid = old.entry.number, old.entry.metadata.uid
            self._resources.remove(number, uid)
            former = self._former(uid, number)
        if new is not None:
            number, uid = new.entry.number, new.entry.metadata.uid
            if number:
                self._resources.put(number, uid, new.entry.age, new)
            else:
                self._require_number(
                    unnumbered(new, former if old is not None and old.entry.metadata.uid == uid else 0)
                )
            for each in self._resources.disputed(number):
                self._require_number(unnumbered(each))
        self._date(old, new)
        self._notify(followed, old, new)

    def _date(self, old: IndexedResource | None, new: IndexedResource | None) -> None:
        if new is None or (old is not None and old.entry.metadata.uid != new.entry.metadata.uid):
            self._declared_at.pop(old.entry.metadata.uid if old is not None else "", None)
        if new is not None and (old is None or old.entry.declaration != new.entry.declaration):
            self._declared_at[new.entry.metadata.uid] = int(new.entry.metadata.resource_version)

    def _notify(self, followed: _Followed, old: IndexedResource | None, new: IndexedResource | None) -> None:
        if self._handlers:
            version = followed.informer.cache.version
            revision = int(new.entry.metadata.resource_version) if new is not None else version
            message = ResourceChange(old, new, revision)
            for handler in self._handlers:
                handler(message)


class _Followed:
    """The watched resources of one kind, and its types by served version."""

    def __init__(self, kind: Kind, informer: Informer[Entry], types: dict[str, TypeEntry]) -> None:
        self.kind, self.informer = kind, informer
        self.arrange(types)

    def arrange(self, types: dict[str, TypeEntry]) -> None:
        self.types = types
        # The newest type counts for resources without a version label, or whose type is gone.
        self._by_label: dict[str, TypeEntry | None] = {"": types[max(types, key=version_priority)]}

    @property
    def reached(self) -> int:
        if self.informer.cache.is_synced:
            return self.informer.cache.version
        # No resource is older than its type.
        return min(int(each.metadata.resource_version) for each in self.types.values())

    def type_of(self, entry: Entry) -> TypeEntry | None:
        label = entry.metadata.labels.version
        if label not in self._by_label:
            self._by_label[label] = self.types.get(version_name(label)) or self._by_label[""]
        return self._by_label[label]
