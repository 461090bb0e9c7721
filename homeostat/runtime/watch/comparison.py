"""Compares what a watch has brought about with a list, about every hour, while the watch goes on.

The list is the state at one version, and comes by pages while events come too. It is compared once the watch has
reached that version: where the cache differs, although no later event was about the object, a faulty proxy has dropped
an event. Promises, each tested:

- a difference is found at the latest after `relist_every_s`, corrected in the cache, and handed on at once
- what came, changed or went by events after the list's version is no difference
- a list that fails is asked for again later, and a list that the watch itself makes takes its place
- pages, which come whole or not at all: of a streamed list some might be dropped too
- where the watch does not come to the list's version in time, the list brings the cache there
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Generic, Never, TypeVar

from homeostat.objects.errors import ExpiredError
from homeostat.runtime.cache.cache import CacheWriter
from homeostat.runtime.cache.decoding import Projected
from homeostat.runtime.cache.listing import Listing as CacheListing
from homeostat.runtime.watch.phase import FAILURES, Listing, Watching
from homeostat.runtime.watch.watcher import Pace, Watcher

log = logging.getLogger(__name__)

V = TypeVar("V", bound=Projected)


class NotWatchingError(Exception):
    """The watch is broken off, or lists anew."""


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
            # Watches that began together should not list together for ever.
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
