"""The metadata of every object of every kind, as it changes: one watch a kind, read once for all of housekeeping.

Kinds come from discovery, which is asked again when a CustomResourceDefinition changes. Promises: a watch that ends is
opened again where it was, one that cannot be is listed anew and `Listed` tells what is there; a kind that is not served
any more is `Lost`; `is_synced` once every kind has been listed, and `Synced` whenever that becomes true.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import aclosing

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import ApiError, ExpiredError, NotFoundError, error_of
from homeostat.objects.json import decode_stored
from homeostat.operators.housekeeping.kinds import AGGREGATED, DEFINITION, Kind, read_discovery
from homeostat.operators.housekeeping.metadata import PARTIAL, Metadata, decode_change, ends_initial_events
from homeostat.operators.housekeeping.queue import backoff_s

log = logging.getLogger(__name__)

_SETTLE_S = 0.05
_LASTING_S = 10.0


class Changed(msgspec.Struct, frozen=True, gc=False):
    kind: Kind
    metadata: Metadata


class Gone(msgspec.Struct, frozen=True, gc=False):
    kind: Kind
    metadata: Metadata


class Listed(msgspec.Struct, frozen=True):
    """All objects of a kind have just been told as `Changed`; those not among these uids are gone."""

    kind: Kind
    uids: frozenset[str]


class Lost(msgspec.Struct, frozen=True):
    kind: Kind


class Synced(msgspec.Struct, frozen=True):
    pass


News = Changed | Gone | Listed | Lost | Synced
Observer = Callable[[News], None]


class Follower:
    """Reads one kind for ever."""

    def __init__(self, client: Client, kind: Kind, deliver: Observer) -> None:
        self._client = client
        self._deliver = deliver
        self._since = ""
        self.kind = kind
        self.is_synced = False

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        failures = 0
        while True:
            began = loop.time()
            try:
                await self._read()
            except ExpiredError:
                self._since = ""
            except NotFoundError:
                # Its definition has gone; the next look at discovery ends this follower.
                log.debug("kind is not served any more", extra={"kind": self.kind.key})
            except (ApiError, msgspec.DecodeError) as error:
                log.warning("watch failed", extra={"kind": self.kind.key, "error": str(error)})
            failures = 1 if loop.time() - began > _LASTING_S else failures + 1
            await asyncio.sleep(backoff_s(failures, first_s=0.02))

    async def _read(self) -> None:
        """One watch: from where the last one ended, or with everything that is there first."""
        listed: set[str] | None = None if self._since else set()
        query = {"resourceVersion": self._since, "allowWatchBookmarks": "true"}
        if listed is not None:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        async with aclosing(self._client.lines(self.kind.collection(), accept=PARTIAL, **query)) as lines:
            async for line in lines:
                change = decode_change(line)
                metadata = change.object.metadata
                match change.type:
                    case "ERROR":
                        raise error_of(decode_stored(line)["object"])
                    case "BOOKMARK":
                        if listed is not None and ends_initial_events(line):
                            self.is_synced = True
                            self._deliver(Listed(self.kind, frozenset(listed)))
                            listed = None
                    case "DELETED":
                        self._deliver(Gone(self.kind, metadata))
                    case _:
                        if listed is not None:
                            listed.add(metadata.uid)
                        self._deliver(Changed(self.kind, metadata))
                if listed is None:
                    self._since = metadata.resource_version


class Feed:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._observers: list[Observer] = []
        self._followers: dict[str, tuple[Follower, asyncio.Task[None]]] = {}
        self._is_stale = asyncio.Event()
        self.kinds: Mapping[str, Kind] = {}
        """Every kind that is served, by key; also those that are not followed."""
        self.is_synced = False

    def subscribe(self, observer: Observer) -> None:
        self._observers.append(observer)

    async def run(self) -> None:
        failures = 0
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._is_stale.clear()
                try:
                    self._follow(await self.discover(), tasks)
                except ApiError as error:
                    failures += 1
                    log.warning("discovery failed", extra={"error": error.message, "failures": failures})
                    await asyncio.sleep(backoff_s(failures, first_s=0.1))
                    continue
                failures = 0
                await asyncio.sleep(_SETTLE_S)
                await self._is_stale.wait()

    def has_listed(self, key: str) -> bool:
        """Every change of a kind's objects is being told."""
        found = self._followers.get(key)
        return found is not None and found[0].is_synced

    async def discover(self) -> dict[str, Kind]:
        """Every kind that is served at this moment."""
        documents = [await self._client.fetch("GET", path, accept=AGGREGATED) for path in ("/api", "/apis")]
        return read_discovery(documents)

    def _follow(self, kinds: dict[str, Kind], tasks: asyncio.TaskGroup) -> None:
        self.kinds = kinds
        followed = {key: kind for key, kind in kinds.items() if kind.is_followed}
        for key, (follower, task) in list(self._followers.items()):
            if followed.get(key) != follower.kind:
                task.cancel()
                del self._followers[key]
                if key not in followed:
                    self._tell(Lost(follower.kind))
        for key, kind in followed.items():
            if key not in self._followers:
                follower = Follower(self._client, kind, self._deliver)
                self._followers[key] = (follower, tasks.create_task(follower.run()))
        self.is_synced = False
        self._check_synced()

    def _deliver(self, news: News) -> None:
        match news:
            case Changed(kind=kind) | Gone(kind=kind) if kind.key == DEFINITION:
                self._is_stale.set()
        self._tell(news)
        if isinstance(news, Listed):
            self._check_synced()

    def _check_synced(self) -> None:
        if not self.is_synced and all(follower.is_synced for follower, _ in self._followers.values()):
            self.is_synced = True
            self._tell(Synced())

    def _tell(self, news: News) -> None:
        for observer in self._observers:
            observer(news)
