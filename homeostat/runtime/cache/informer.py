"""One watch for all readers of the same objects: a cache to read, and handlers that get each change.

    informers = Informers(client)
    pods = informers.get(Source("/api/v1/pods", label_selector="app=web"), Pod)
    pods.add_handler(lambda change: ...)

Promises, each tested:

- requests for the same objects in the same projection get the same informer, and the server sees one watch
- a handler gets a change after the cache has it, in the order of the server; a handler that is added later first gets
  the cached objects
- `synced` returns when the cache and the handlers have the first list

A handler does no I/O and does not raise: it puts names into queues. An error of a handler ends all informers.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Never, TypeVar, cast

from homeostat.runtime.cache.cache import Cache, CacheWriter, Change
from homeostat.runtime.cache.decoding import Projected, Projection, UnreadableObject, name_of, version_of
from homeostat.runtime.cache.freshness import Deletion
from homeostat.runtime.cache.index import KeysOf
from homeostat.runtime.cache.unreadable import Handler as UnreadableHandler
from homeostat.runtime.cache.unreadable import UnreadableError, UnreadableObjects
from homeostat.runtime.watch.comparison import Comparison
from homeostat.runtime.watch.source import Api, Source
from homeostat.runtime.watch.watcher import Pace, Watcher

V = TypeVar("V", bound=Projected)
Handler = Callable[[Change[V]], None]


class Informer(Generic[V]):
    """Created by `Informers`. `watcher` and `comparison` have the numbers for metrics."""

    def __init__(
        self, api: Api, source: Source, struct: type[V], *, pace: Pace, chance: Callable[[], float] = random.random
    ) -> None:
        self.source = source
        self._unreadable = UnreadableObjects(source.place.plural, struct.__name__)
        self._writer: CacheWriter[V] = CacheWriter(
            name_of=name_of,
            version_of=version_of,
            is_unseen=Deletion.is_unseen_in,
            unreadable=self._unreadable,
        )
        self._handlers: tuple[Handler[V], ...] = ()
        self.watcher: Watcher[V] = Watcher(
            api, source, Projection(struct), writer=self._writer, notify=self._notify, pace=pace, chance=chance
        )
        self.comparison = Comparison(self.watcher, self._writer, pace=pace, chance=chance)

    @property
    def cache(self) -> Cache[V]:
        return self._writer.cache

    @property
    def relists(self) -> int:
        """The number of lists after the first one, for any reason."""
        return self.watcher.relists + self.comparison.lists

    def add_index(self, index: str, keys_of: KeysOf[V]) -> None:
        self._writer.add_index(index, keys_of)

    def add_handler(self, handler: Handler[V]) -> None:
        for obj in self.cache:
            handler(Change(*name_of(obj), None, obj))
        self._handlers += (handler,)

    def remove_handler(self, handler: Handler[V]) -> None:
        self._handlers = tuple(each for each in self._handlers if each != handler)

    def unreadable_error(self, unreadable: UnreadableObject) -> UnreadableError:
        return self._unreadable.error((unreadable.namespace, unreadable.name))

    def add_unreadable_handler(self, handler: UnreadableHandler) -> None:
        """Gets each unreadable object when it appears, changes, or is no longer unreadable."""
        self._unreadable.add_handler(handler)

    def remove_unreadable_handler(self, handler: UnreadableHandler) -> None:
        self._unreadable.remove_handler(handler)

    async def synced(self) -> None:
        """Waits for the first list. The caller sets the timeout: a server may be unreachable for long."""
        await self.watcher.synced.wait()

    async def run(self) -> Never:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.watcher.run())
            tasks.create_task(self.comparison.run())
        raise AssertionError("a watch ends only by an error or by being cancelled")

    def _notify(self, change: Change[V]) -> None:
        for handler in self._handlers:
            handler(change)


class Informers:
    """All informers of a process. An informer that is requested while they run is started at once."""

    def __init__(
        self,
        api: Api,
        *,
        pace: Pace = Pace(),  # noqa: B008
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._api, self._pace, self._chance = api, pace, chance
        self._informers: dict[tuple[Source, type], Informer[Any]] = {}
        self._by_collection: dict[tuple[str, str], tuple[Informer[Any], ...]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._running: dict[Informer[Any], asyncio.Task[Never]] = {}
        self._wanted: Counter[Informer[Any]] = Counter()

    def __iter__(self) -> Iterator[Informer[Any]]:
        return iter(list(self._informers.values()))

    def of(self, group: str, plural: str) -> tuple[Informer[Any], ...]:
        """The informers of a collection, of any version, namespace and selector."""
        return self._by_collection.get((group, plural), ())

    def get(self, source: Source, struct: type[V], indexes: Mapping[str, KeysOf[V]] | None = None) -> Informer[V]:
        """Every caller may add indexes, with names that are not in use, and may `drop` the informer once."""
        informer = cast("Informer[V] | None", self._informers.get((source, struct)))
        if informer is None:
            informer = Informer(self._api, source, struct, pace=self._pace, chance=self._chance)
            self._informers[source, struct] = informer
            self._by_collection[source.place[:2]] = (*self.of(*source.place[:2]), informer)
            if self._tasks is not None:
                self._running[informer] = self._tasks.create_task(informer.run())
        for index, keys_of in (indexes or {}).items():
            informer.add_index(index, keys_of)
        self._wanted[informer] += 1
        return informer

    def drop(self, informer: Informer[Any]) -> None:
        """Ends the watch when the last caller of `get` has dropped it. A later `get` returns a new informer."""
        self._wanted[informer] -= 1
        if self._wanted[informer] > 0:
            return
        del self._wanted[informer]
        self._informers = {key: each for key, each in self._informers.items() if each is not informer}
        collection = informer.source.place[:2]
        self._by_collection[collection] = tuple(each for each in self.of(*collection) if each is not informer)
        if (task := self._running.pop(informer, None)) is not None:
            task.cancel()
        informer._writer.release()

    async def synced(self) -> None:
        """Waits until every informer that exists now has its first list."""
        for informer in self:
            await informer.synced()

    async def run(self) -> Never:
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                self._running = {informer: tasks.create_task(informer.run()) for informer in self}
                await asyncio.Event().wait()
            finally:
                self._tasks = None
                self._running = {}
        raise AssertionError("informers end only by an error or by being cancelled")
