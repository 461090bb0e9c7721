"""Objects that pages show, in memory and kept current by watches: a page costs what it shows, with 10,000 objects too.

    watched = Watched(client)
    tasks.create_task(watched.run())
    policies = await watched.all(SYNC_POLICY.kind, SyncPolicy)

The watch of a kind begins with the first page that needs it, so a dashboard that nobody opens costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Generic, Never, TypeVar, cast

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.kind import Kind
from homeostat.runtime.cache.cache import Cache
from homeostat.runtime.cache.decoding import Projected
from homeostat.runtime.cache.informer import Informer, Informers
from homeostat.runtime.watch.phase import Waiting
from homeostat.runtime.watch.source import Source
from homeostat.runtime.watch.watcher import Watcher
from homeostat.web.kit.readiness import WITHIN_S, wait_ready
from homeostat.web.kit.refusal import RefusalError

V = TypeVar("V", bound=Projected)
R = TypeVar("R")
_STALE_AFTER_S: Final = 60.0
_SILENT_AFTER_S: Final = 180.0
"""A watch that is silent for 75 s is opened again, and then listed again: in any state, this long is a failure."""


class Watched:
    """`within` is the only namespace of which this server may read; empty for all."""

    def __init__(self, client: Client, within: str = "") -> None:
        self._client, self._informers, self._within = client, Informers(client), within
        self._known: dict[tuple[Kind, type], Informer[Any]] = {}

    async def run(self) -> Never:
        await self._informers.run()

    async def all(self, kind: Kind, shape: type[V]) -> Cache[V] | None:
        """The objects that this server may read; None if the server has no such kind. `RefusalError` 503 if the first
        list takes too long or the watch has not worked for a minute, and the error of the server if it refuses.
        """
        informer = cast("Informer[V] | None", self._known.get((kind, shape)))
        if informer is None:
            path = kind.path(self._within if kind.is_namespaced else "")
            try:
                await self._client.fetch("GET", path, {"limit": 1})
            except NotFoundError:
                return None
            # Another page may have begun the same watch meanwhile; informers of equal sources are one.
            informer = self._known[kind, shape] = self._informers.get(Source(path), shape)
        await wait_ready(informer.synced(), f"the server has not listed {kind.plural} within {WITHIN_S:.0f} s")
        if reason := stale_reason(informer.watcher):
            message = f"out of date: the watch of {kind.plural} does not work: {reason}"
            raise RefusalError(503, message, (("Retry-After", "5"),))
        return informer.cache


def stale_reason(watcher: Watcher[Any]) -> str:
    """Why its objects may be out of date; empty if they are not. A server sends a bookmark every minute or so."""
    state, age_s = watcher.state, watcher.last_event_age_s
    if isinstance(state, Waiting) and age_s > _STALE_AFTER_S:
        return f"no event for {age_s:.0f} s: {state.reason}"
    return f"no event for {age_s:.0f} s" if age_s > _SILENT_AFTER_S else ""


class Derived(Generic[V, R]):
    """What a list needs of each object, computed again only for objects that have changed."""

    def __init__(self, derive: Callable[[V], R]) -> None:
        self._derive = derive
        self._known: dict[tuple[str, str], tuple[V, R]] = {}

    def of(self, cache: Iterable[V]) -> list[R]:
        known, self._known = self._known, {}
        for obj in cache:
            key = obj.metadata.namespace, obj.metadata.name
            before = known.get(key)
            # A cache keeps the same value of an object that has not changed.
            self._known[key] = before if before is not None and before[0] is obj else (obj, self._derive(obj))
        return [derived for _, derived in self._known.values()]
