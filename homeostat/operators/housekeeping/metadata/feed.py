"""Watches the metadata of all objects of all kinds, with one watch per kind that all controllers share.

Kinds come from discovery, which is read again when a CustomResourceDefinition changes. Promises: no change is missed
while a watch is interrupted, because it resumes or lists again (`Listing`, `Listed`); a kind that is not served any
more is `Lost`; `is_synced` when every kind was listed, and `Synced` whenever that becomes true.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from time import thread_time

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.client.discovery import fetch_kinds
from homeostat.objects.errors import ApiError
from homeostat.objects.kind import Kind
from homeostat.objects.time.backoff import Backoff
from homeostat.operators.housekeeping.metadata.events import Changed, FeedEvent, Gone, Listed, Lost, Observer, Synced
from homeostat.operators.housekeeping.metadata.kinds import DEFINITION_KEY, by_key, is_followed
from homeostat.operators.housekeeping.metadata.metadata import Partial
from homeostat.operators.housekeeping.metadata.sink import Relay
from homeostat.runtime.cache.decoding import Projection
from homeostat.runtime.watch.source import Source
from homeostat.runtime.watch.watcher import Pace, Watcher

log = logging.getLogger(__name__)

_SETTLE_S = 0.05
_SETTLE_SHARE = 20
"""How many times as long as discovery took the next one waits: with thousands of kinds it takes tenths of a second."""
_LONGEST_SETTLE_S = 5.0
"""The measured time includes everything that ran on the event loop meanwhile, so on a busy one it says little."""
_STARTED_A_TURN = 50
"""Watches: thousands that start in one turn of the event loop would block it for half a second."""
BACKOFF = Backoff(first_s=0.02, cap_s=60.0)
"""The backoff of all retries in housekeeping. Most failures are races with other writers, so it starts low."""
# The server is in the same process, so no proxy can drop events and no comparison is needed.
_PACE = Pace(backoff=BACKOFF)


class _Followed(msgspec.Struct, frozen=True):
    source: Source
    relay: Relay
    task: asyncio.Task[None]


class Feed:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._projection = Projection(Partial)
        self._observers: list[tuple[Observer, frozenset[str]]] = []
        self._followed: dict[str, _Followed] = {}
        self._is_stale = asyncio.Event()
        self.kinds: Mapping[str, Kind] = {}
        """All served kinds by key, also those that are not watched."""
        self.is_synced = False
        self._is_following = False
        self.subscribe(self._observe_definitions, DEFINITION_KEY)

    def subscribe(self, observer: Observer, *keys: str) -> None:
        """Subscribe to the kinds of these keys, or to all. Call it before `run`."""
        self._observers.append((observer, frozenset(keys)))

    async def run(self) -> None:
        failures = 0
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._is_stale.clear()
                began = thread_time()
                try:
                    await self._follow(await self.discover(), tasks)
                except (ApiError, UnreachableError) as error:
                    failures += 1
                    log.warning("discovery failed", extra={"reason": str(error), "failures": failures})
                    await asyncio.sleep(BACKOFF.delay_s(failures, chance=0.0))
                    continue
                failures = 0
                await asyncio.sleep(min(max(_SETTLE_S, _SETTLE_SHARE * (thread_time() - began)), _LONGEST_SETTLE_S))
                await self._is_stale.wait()

    def has_listed(self, key: str) -> bool:
        """Whether all objects of the kind were delivered, and all changes are."""
        found = self._followed.get(key)
        return found is not None and found.relay.is_synced

    async def discover(self) -> dict[str, Kind]:
        """The kinds that are served now, each in the preferred version."""
        kinds = await fetch_kinds(self._client)
        await asyncio.sleep(0)  # Thousands of kinds take long to read, and long to follow.
        return by_key(kinds)

    async def _follow(self, kinds: dict[str, Kind], tasks: asyncio.TaskGroup) -> None:
        known, self.kinds = self.kinds, kinds
        self.is_synced, self._is_following = False, True
        wanted = {
            key: followed.source
            if (followed := self._followed.get(key)) is not None and known.get(key) == kind
            else Source(kind.path(""), is_metadata_only=True, skips_status=key != DEFINITION_KEY)
            for key, kind in kinds.items()
            if is_followed(kind)
        }
        for key, followed in list(self._followed.items()):
            if wanted.get(key) != followed.source:
                followed.task.cancel()
                del self._followed[key]
                if key not in wanted:
                    followed.relay.deliver(Lost(key))
        started = 0
        for key, source in wanted.items():
            if key not in self._followed:
                self._followed[key] = self._start(key, source, tasks)
                started += 1
                if started % _STARTED_A_TURN == 0:
                    await asyncio.sleep(0)
        self._is_following = False
        self._check_synced()

    def _start(self, key: str, source: Source, tasks: asyncio.TaskGroup) -> _Followed:
        relay = Relay(key, self._observers_of(key), synced=self._check_synced)
        watcher = Watcher(self._client, source, self._projection, writer=relay, pace=_PACE)
        return _Followed(source, relay, tasks.create_task(watcher.run()))

    def _observers_of(self, key: str) -> list[Observer]:
        return [observer for observer, keys in self._observers if not keys or key in keys]

    def _observe_definitions(self, event: FeedEvent) -> None:
        # Also after a list, which shows deletions that the watch missed.
        if isinstance(event, Changed | Gone | Listed):
            self._is_stale.set()

    def _check_synced(self) -> None:
        # The newest first: of thousands, those are the ones that may not be listed yet.
        if not (self.is_synced or self._is_following) and all(
            each.relay.is_synced for each in reversed(self._followed.values())
        ):
            self.is_synced = True
            for observer, _ in self._observers:
                observer(Synced())
