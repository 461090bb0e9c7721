"""Compares the cache of a watch with a list, about every hour, while the watch goes on.

The list is the state at one resource version and is read in pages while events arrive. It is compared when the watch
has reached that version. If the cache differs although no later event was about the object, a faulty proxy has dropped
an event. Promises, each tested:

- a difference is found after `relist_every_s` at the latest, corrected in the cache, and delivered to the handlers
- objects that events after the version of the list created, changed or deleted are not differences
- a list that fails is repeated later; a list of the watch itself replaces it
- the list is read in pages and not streamed: of a stream a proxy might drop events, too
- if the watch does not reach the version of the list in time, the cache takes over the list
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Generic, Never, TypeVar

from msgspec.structs import replace

from homeostat.objects.errors import ExpiredError
from homeostat.runtime.cache.cache import CacheWriter
from homeostat.runtime.cache.decoding import Projected
from homeostat.runtime.cache.listing import Listing as CacheListing
from homeostat.runtime.watch.phase import FAILURES, Listing, Watching
from homeostat.runtime.watch.watcher import Pace, Watcher

log = logging.getLogger(__name__)

V = TypeVar("V", bound=Projected)


class NotWatchingError(Exception):
    """The watch is interrupted, or lists again."""


class Comparison(Generic[V]):
    """`lists` and `differences` are for metrics."""

    def __init__(
        self, watcher: Watcher[V], writer: CacheWriter[V], *, pace: Pace, chance: Callable[[], float] = random.random
    ) -> None:
        self.lists = 0
        self.differences = 0
        self._watcher, self._writer = watcher, writer
        self._pace, self._chance = pace, chance

    async def run(self) -> Never:
        await self._watcher.synced.wait()
        failures = 0
        while True:
            # Jitter, so that watches that started together do not list together.
            every_s = self._pace.relist_every_s * (1.0 - 0.2 * self._chance())
            await asyncio.sleep(min(every_s, self._pace.silence_s) if failures else every_s)
            try:
                await self._compare()
                failures = 0
            except (*FAILURES, NotWatchingError) as error:
                failures += 1
                self._report(error, failures)

    async def _compare(self) -> None:
        if not isinstance(self._watcher.state, Watching):
            raise NotWatchingError("there is no watch to compare with")
        try:
            listing, version = await self._list(Listing())
        except ExpiredError:
            listing, version = await self._list(Listing(is_paged=False))
        is_reached = await self._is_reached(version)
        changes = listing.merge(version)
        if changes and is_reached:
            self.differences += len(changes)
            log.warning(
                "watch missed changes; corrected from a list",
                extra={"path": self._watcher.path, "objects": len(changes)},
            )
        self._watcher.notify_list(changes)

    async def _list(self, phase: Listing) -> tuple[CacheListing[V], int]:
        self.lists += 1
        listing = self._writer.comparison()
        while True:
            page = await self._watcher.fill(listing, phase)
            if not page.token:
                return listing, page.version
            phase = replace(phase, token=page.token)

    async def _is_reached(self, version: int) -> bool:
        try:
            async with asyncio.timeout(self._pace.silence_s):
                await self._writer.cache.reached(version)
        except TimeoutError:
            return False
        return True

    def _report(self, error: Exception, failures: int) -> None:
        level = logging.WARNING if failures & (failures - 1) == 0 else logging.DEBUG
        fields = {"path": self._watcher.path, "reason": str(error) or type(error).__name__, "failures": failures}
        log.log(level, "comparison failed", extra=fields)
