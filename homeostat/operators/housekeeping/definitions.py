"""Deletion of CustomResourceDefinitions: all their objects are deleted first, finalizers included.

When a definition is deleted or changed, the definitions of its group that wait for a name are decided again.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime

import msgspec

from homeostat.client.base import Client
from homeostat.client.requests import Requests
from homeostat.edge.turn import Turn
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEFINITION, Kind
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.housekeeping.garbage.deletions import PendingDeletions
from homeostat.operators.housekeeping.metadata.client import MetadataClient
from homeostat.operators.housekeeping.metadata.events import Changed, FeedEvent, Gone, Listed
from homeostat.operators.housekeeping.metadata.feed import BACKOFF, Feed
from homeostat.operators.housekeeping.metadata.kinds import DEFINITION_KEY, key_of
from homeostat.operators.housekeeping.metadata.metadata import Metadata
from homeostat.runtime.cache.decoding import Projection
from homeostat.runtime.control.queue import WorkQueue
from homeostat.runtime.control.workers import Workers

log = logging.getLogger(__name__)

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_WORKERS = 2
_SOON_S = 0.02
_SETTLE_AFTER_S = 0.5
"""All definitions are read for it, so many changes are answered together."""
_AGAIN_S = 10.0
_LATER_S = 30.0
_ALL_GROUPS = ""
_PAGE = 20
"""Definitions that are read in one turn of the event loop: each may have megabytes."""


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, frozen=True):
    conditions: tuple[_Condition, ...] | None = None


class _Named(msgspec.Struct, frozen=True):
    """Of a definition, whether its names are accepted."""

    metadata: Metadata
    status: _Status = _Status()

    @property
    def are_names_accepted(self) -> bool:
        return _Condition("NamesAccepted", "True") in (self.status.conditions or ())


class Definitions:
    def __init__(self, client: Client, feed: Feed) -> None:
        self._client = client
        self._metadata = MetadataClient(client)
        self._names = Projection(_Named)
        self._feed = feed
        self._queue: WorkQueue[str] = WorkQueue(backoff=BACKOFF)
        self._workers = Workers(self._queue, self._delete, name="definition deletion", count=_WORKERS)
        self._settling: WorkQueue[str] = WorkQueue(backoff=BACKOFF)
        self._settlers = Workers(self._settling, self._settle, name="definition names", count=1)
        self._waiting: dict[str, str] = {}
        """Definitions that wait for the deletion of their objects, by kind."""
        self._seen: set[str] = set()
        self._pending_deletions = PendingDeletions()
        feed.subscribe(self._observe)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._workers.run())
            tasks.create_task(self._settlers.run())

    def _observe(self, event: FeedEvent) -> None:
        self._pending_deletions.observe(event)
        match event:
            case Gone(key, metadata) if key == DEFINITION_KEY:
                self._seen.discard(metadata.name)
                self._settling.add(metadata.name.partition(".")[2])
            case Changed(key, metadata) if key == DEFINITION_KEY:
                if metadata.name in self._seen:
                    self._settling.add(metadata.name.partition(".")[2], after_s=_SETTLE_AFTER_S)
                self._seen.add(metadata.name)
                if metadata.deletion_timestamp is not None and FINALIZER in (metadata.finalizers or ()):
                    self._queue.add(metadata.name)
            case Listed(key) if key == DEFINITION_KEY:
                # Names may have become free while no replica watched. Not at once: a start has more urgent work.
                self._settling.add(_ALL_GROUPS, after_s=_LATER_S)
            case Gone(key, _) if key in self._waiting:
                self._queue.add(self._waiting[key], after_s=_SOON_S)
            case Listed(key) if key in self._waiting:
                self._queue.add(self._waiting[key])

    async def _settle(self, group: str) -> None:
        """Names of the group may be free again: let the server decide again on definitions that wait for some.

        Schemas are large, so nothing but names and conditions is decoded.
        """
        turn, token = Turn(), ""
        while True:
            method, path, query, _, _ = Requests(DEFINITION).list(limit=_PAGE, token=token)
            page = self._names.page(await self._client.fetch(method, path, query))
            for name in [each.metadata.name for each in page.objects if not each.are_names_accepted]:
                if group in (name.partition(".")[2], _ALL_GROUPS):
                    await self._client.merge(f"{DEFINITION.path('', name)}/status", {})
            token = page.token
            if not token:
                return
            await turn.pause()

    async def _delete(self, name: str) -> None:
        self._waiting = {key: each for key, each in self._waiting.items() if each != name}
        path = DEFINITION.path("", name)
        try:
            definition = await self._client.get(path)
        except NotFoundError:
            return
        metadata = definition["metadata"]
        if "deletionTimestamp" not in metadata or FINALIZER not in metadata.get("finalizers", ()):
            return
        kind = kind_of(definition)
        if kind is not None and not self._feed.has_listed(key_of(kind)):
            # The collector has to know its objects, because some may be owners.
            self._queue.add(name, after_s=_SOON_S)
        elif kind is not None and not await self._empty(kind, name):
            await self._report(
                path, definition, "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"
            )
            self._queue.add(name, after_s=_AGAIN_S)
        elif kind is not None and self._pending_deletions.is_awaited(key_of(kind)):
            # The watch may not have delivered all deletions yet, and cannot do so after the kind is gone.
            self._waiting[key_of(kind)] = name
            self._queue.add(name, after_s=_AGAIN_S)
        else:
            await self._release(path, definition)

    async def _empty(self, kind: Kind, definition: str) -> bool:
        """Delete every object; returns whether none is left. Otherwise each deletion queues the definition again."""
        self._waiting[key_of(kind)] = definition
        found = await self._metadata.list(kind)
        self._pending_deletions.expect(key_of(kind), (each.uid for each in found))
        for namespace in sorted({each.namespace for each in found}):
            await self._metadata.delete_all(kind, namespace)
        is_empty = not found or not await self._metadata.list(kind)
        if is_empty:
            self._waiting.pop(key_of(kind), None)
        return is_empty

    async def _release(self, path: str, definition: JsonObject) -> None:
        left = [each for each in definition["metadata"]["finalizers"] if each != FINALIZER]
        if left:
            await self._report(path, definition, "False", "InstanceDeletionCompleted", "removed all instances")
        await self._client.merge(path, {"metadata": {"uid": definition["metadata"]["uid"], "finalizers": left or None}})
        log.info("deleted all instances of definition", extra={"definition": definition["metadata"]["name"]})

    async def _report(self, path: str, definition: JsonObject, status: str, reason: str, message: str) -> None:
        conditions = definition.get("status", {}).get("conditions") or []
        former: JsonObject = next((each for each in conditions if each.get("type") == "Terminating"), {})
        if (former.get("status"), former.get("reason")) == (status, reason):
            return
        since = former.get("lastTransitionTime") if former.get("status") == status else None
        condition = {
            "type": "Terminating",
            "status": status,
            "lastTransitionTime": since or format_time(datetime.now(UTC)),
            "reason": reason,
            "message": message,
        }
        others = [each for each in conditions if each.get("type") != "Terminating"]
        await self._client.merge(f"{path}/status", {"status": {"conditions": [*others, condition]}})


def kind_of(definition: JsonObject) -> Kind | None:
    """The kind of a terminating definition; None if it was never established. Then it has no objects."""
    spec = definition["spec"]
    conditions = definition.get("status", {}).get("conditions") or ()
    if not any((each.get("type"), each.get("status")) == ("Established", "True") for each in conditions):
        return None
    # The server serves the stored version of a terminating definition if no other is served. It needs no conversion.
    served = [each for each in spec["versions"] if each.get("served")] or spec["versions"]
    usable = [each["name"] for each in sorted(served, key=lambda it: not it.get("storage"))]
    names = definition["status"]["acceptedNames"]
    return Kind(spec["group"], usable[0], names["plural"], names["kind"], is_namespaced=spec["scope"] == "Namespaced")
