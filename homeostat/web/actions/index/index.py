"""All resource types and the resources of all types, as the server last told them: what lists, events and pages are
made of.

    book = Book(client, namespace="default")
    stop = book.subscribe(lambda change: ...)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(book.run())
        await book.synced()
        book.find(1)                                  # a resource by its number
        book.find_named("DatabaseCluster", "v1", "production-pg")
        book.newest(before=0)                         # all, the newest first
        book.types()                                  # by name, then version

Types come and go, and with each the watch on its resources. Promises, each tested:

- a resource is `IndexedResource` with what its body is made of (`bodies.py`), so a list asks the server nothing
- a handler is told every change after the book holds it, in the order in which the server made the changes to one kind;
  it does no I/O and does not raise; who subscribes before `synced` is told of all that is found, who does later is not
- what has no number, or one that is another's, is told to `unnumbered` and is not listed until it has one
- after `await_write` the book holds what was written
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
from homeostat.operators.actions.types.naming import kind_name, plural_of, version_name
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
    """Of one namespace."""

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
        """By uid."""
        self.wants_numbers = asyncio.Event()
        self._types.add_handler(self._note_type)

    async def run(self) -> Never:
        await self._informers.run()

    async def synced(self) -> None:
        """All that was there at the start is in the book. The caller sets the timeout."""
        await self._types.synced()
        await self._informers.synced()

    @property
    def is_synced(self) -> bool:
        return all(each.cache.is_synced for each in self._informers)

    def subscribe(self, handler: ChangeHandler) -> Callable[[], None]:
        """Returns what ends it."""
        self._handlers = (*self._handlers, handler)

        def unsubscribe() -> None:
            self._handlers = tuple(each for each in self._handlers if each is not handler)

        return unsubscribe

    def types(self) -> list[TypeEntry]:
        return sorted(self._types.cache, key=lambda each: (each.spec.name, each.spec.version))

    def find_type(self, number: int) -> TypeEntry | None:
        return self._numbered_types.get(number)

    def type_named(self, name: str, version: str) -> TypeEntry | None:
        """Of several the oldest: the others are not in force."""
        same = [each for each in self._types.cache if (each.spec.name, each.spec.version) == (name, version)]
        return min(same, key=age_of) if same else None

    def same_kind(self, name: str, version: str) -> TypeEntry | None:
        """One that a type of this name and version could not stand beside."""
        wanted = kind_name(name), version_name(version)
        found = (each for each in self._types.cache if identity_of(each) == wanted)
        return next(found, None)

    def is_served(self, resource_type: TypeEntry) -> bool:
        """Its resources are followed, as they are now declared by it."""
        followed = self._followed.get(kind_name(resource_type.spec.name))
        return followed is not None and followed.informer.cache.is_synced and is_settled(resource_type)

    async def comes_to(self, until: Callable[[], bool], within_s: float) -> bool:
        """Whether it holds in time: a fact about types, looked at whenever one of them changes."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while not until():
                    self._type_changed.clear()
                    # Whether the resources of a type were listed is no change of a type.
                    with suppress(TimeoutError):
                        async with asyncio.timeout(0.05):
                            await self._type_changed.wait()
        return until()

    def find(self, number: int) -> IndexedResource | None:
        return self._resources.get(number)

    def find_named(self, type_name: str, type_version: str, name: str) -> IndexedResource | None:
        followed = self._followed.get(kind_name(type_name))
        entry = followed.informer.cache.get(self.namespace, name) if followed is not None else None
        if followed is None or entry is None:
            return None
        indexed = IndexedResource(followed.kind, entry)
        resource_type = self.type_of(indexed)
        is_meant = resource_type is not None and resource_type.spec.version == type_version
        return indexed if is_meant else None

    def newest(self, *, before: int = 0) -> Iterator[IndexedResource]:
        return self._resources.newest(before=before)

    def of_type(self, resource_type: TypeEntry) -> list[IndexedResource]:
        """Also those that have no number yet."""
        followed = self._followed.get(kind_name(resource_type.spec.name))
        indexed = (
            [IndexedResource(followed.kind, each) for each in followed.informer.cache] if followed is not None else []
        )
        uid = resource_type.metadata.uid
        return [each for each in indexed if (found := self.type_of(each)) is not None and found.metadata.uid == uid]

    def type_of(self, indexed: IndexedResource) -> TypeEntry | None:
        """The one that it was declared by; unless told, the newest of its kind."""
        followed = self._followed.get(indexed.kind.kind)
        return followed.type_of(indexed.entry) if followed is not None else None

    def kinds(self) -> list[Kind]:
        """Whose resources are followed."""
        return [each.kind for each in self._followed.values()]

    def reached(self) -> dict[str, int]:
        """By kind, the revision up to which the book was told of its resources; and, without a name, of the types."""
        return {"": self._types.cache.version, **{kind: each.reached for kind, each in self._followed.items()}}

    def is_followed(self, resource_type: TypeEntry) -> bool:
        """The server has had a definition of it."""
        followed = self._followed.get(kind_name(resource_type.spec.name))
        return followed is not None and version_name(resource_type.spec.version) in followed.types

    def plural_of(self, type_name: str, type_version: str) -> str:
        """How the kind of a type is called on the server."""
        found = self.type_named(type_name, type_version)
        return kind_of(found).plural if found is not None else plural_of(kind_name(type_name))

    def has_name(self, resource_type: TypeEntry, name: str) -> bool:
        """Whether a resource of the type, in whatever version, has the name."""
        followed = self._followed.get(kind_name(resource_type.spec.name))
        return followed is not None and followed.informer.cache.knows(self.namespace, name)

    def declared_at(self, uid: str) -> int:
        """The version since which a resource has been declared as it is, as far as is known; its status has changed."""
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
        """Returns when the book has seen a write of a type or, with its type, of a resource, by the version that it
        was answered with; or after some seconds without.
        """
        informer: Informer[TypeEntry] | Informer[Entry] = self._types
        if resource_type is not None:
            followed = self._followed.get(kind_name(resource_type.spec.name))
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
                self._want(unnumbered_type(change.new, former))
            for each in self._numbered_types.disputed(number):
                self._want(unnumbered_type(each))
        self._arrange()
        self._type_changed.set()

    def _former(self, uid: str, number: int) -> int:
        """What an object that was just replaced was called by, perhaps some replacements ago."""
        wanted = self.unnumbered.pop(uid, None)
        return number or (wanted.former if wanted is not None else 0)

    def _want(self, wanted: Unnumbered) -> None:
        self.unnumbered[wanted.uid] = wanted
        self.wants_numbers.set()

    def _arrange(self) -> None:
        by_kind: dict[str, dict[str, TypeEntry]] = {}
        for each in sorted(self._types.cache, key=age_of, reverse=True):
            if is_defined(each):
                by_kind.setdefault(kind_name(each.spec.name), {})[version_name(each.spec.version)] = each
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
                self._want(unnumbered(new, former if old is not None and old.entry.metadata.uid == uid else 0))
            for each in self._resources.disputed(number):
                self._want(unnumbered(each))
        self._date(old, new)
        self._tell(followed, old, new)

    def _date(self, old: IndexedResource | None, new: IndexedResource | None) -> None:
        if new is None or (old is not None and old.entry.metadata.uid != new.entry.metadata.uid):
            self._declared_at.pop(old.entry.metadata.uid if old is not None else "", None)
        if new is not None and (old is None or old.entry.declaration != new.entry.declaration):
            self._declared_at[new.entry.metadata.uid] = int(new.entry.metadata.resource_version)

    def _tell(self, followed: _Followed, old: IndexedResource | None, new: IndexedResource | None) -> None:
        if self._handlers:
            version = followed.informer.cache.version
            revision = int(new.entry.metadata.resource_version) if new is not None else version
            message = ResourceChange(old, new, revision)
            for handler in self._handlers:
                handler(message)


class _Followed:
    """The resources of one kind, and its types by the version that the server knows them by."""

    def __init__(self, kind: Kind, informer: Informer[Entry], types: dict[str, TypeEntry]) -> None:
        self.kind, self.informer = kind, informer
        self.arrange(types)

    def arrange(self, types: dict[str, TypeEntry]) -> None:
        self.types = types
        # A resource that does not say, or whose type is gone, is of the newest.
        self._by_label: dict[str, TypeEntry | None] = {"": types[max(types, key=version_priority)]}

    @property
    def reached(self) -> int:
        if self.informer.cache.is_synced:
            return self.informer.cache.version
        # Nothing can have been declared by a type before that was in force.
        return min(int(each.metadata.resource_version) for each in self.types.values())

    def type_of(self, entry: Entry) -> TypeEntry | None:
        label = entry.metadata.labels.version
        if label not in self._by_label:
            self._by_label[label] = self.types.get(version_name(label)) or self._by_label[""]
        return self._by_label[label]
