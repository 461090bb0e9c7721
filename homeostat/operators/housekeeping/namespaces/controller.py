"""Deletion of namespaces: a terminating namespace is emptied, then released through its `finalize` subresource.

Pods are deleted first, as in Kubernetes, so that the objects they use still exist while they end. Then it waits for
finalizers and reports them in the conditions of the namespace. Each deletion in the namespace queues it again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import UTC, datetime

from homeostat.client.base import Client
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import NAMESPACE, Kind
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.housekeeping.metadata.client import MetadataClient
from homeostat.operators.housekeeping.metadata.events import Changed, FeedEvent, Gone, Listed
from homeostat.operators.housekeeping.metadata.feed import BACKOFF, Feed
from homeostat.operators.housekeeping.metadata.kinds import NAMESPACE_KEY, POD_KEY, key_of
from homeostat.operators.housekeeping.namespaces.conditions import RemainingContent, merge_conditions
from homeostat.runtime.control.queue import WorkQueue
from homeostat.runtime.control.workers import Workers

log = logging.getLogger(__name__)

_FINALIZER = "kubernetes"
_WORKERS = 4
_SOON_S = 0.02
_AGAIN_S = 10.0


class Namespaces:
    def __init__(self, client: Client, feed: Feed) -> None:
        self._client = client
        self._metadata = MetadataClient(client)
        self._feed = feed
        self._queue: WorkQueue[str] = WorkQueue(backoff=BACKOFF)
        self._workers = Workers(self._queue, self._delete, name="namespace deletion", count=_WORKERS)
        self._waiting: set[str] = set()
        feed.subscribe(self._observe)

    async def run(self) -> None:
        await self._workers.run()

    def _observe(self, event: FeedEvent) -> None:
        match event:
            case Changed(key, metadata) if key == NAMESPACE_KEY and metadata.deletion_timestamp is not None:
                self._queue.add(metadata.name)
            case Gone(key, metadata) if key == NAMESPACE_KEY:
                self._queue.add(metadata.name)
            case Gone(_, metadata) if metadata.namespace in self._waiting:
                self._queue.add(metadata.namespace, after_s=_SOON_S)
            case Changed(_, metadata) if metadata.namespace in self._waiting and metadata.deletion_timestamp is None:
                self._queue.add(metadata.namespace, after_s=_SOON_S)
            case Listed():
                for name in self._waiting:
                    self._queue.add(name)

    async def _delete(self, name: str) -> None:
        self._waiting.discard(name)
        path = NAMESPACE.path("", name)
        try:
            namespace = await self._client.get(path)
        except NotFoundError:
            await self._delete_leftovers(name)
            return
        finalizers = namespace.get("spec", {}).get("finalizers") or []
        if "deletionTimestamp" not in namespace["metadata"] or _FINALIZER not in finalizers:
            return
        self._waiting.add(name)
        remaining = await self._empty(name)
        namespace = await self._report(path, namespace, remaining)
        if remaining.errors:
            raise remaining.errors[0]
        if not remaining.is_empty:
            self._queue.add(name, after_s=_AGAIN_S)
            return
        self._waiting.discard(name)
        left = [each for each in finalizers if each != _FINALIZER]
        await self._client.update(f"{path}/finalize", {**namespace, "spec": {**namespace["spec"], "finalizers": left}})
        log.info("deleted all content of namespace", extra={"namespace": name})

    async def _delete_leftovers(self, name: str) -> None:
        """Delete objects that were written while the namespace was deleted."""
        left = [(kind, each) for kind in await self._contents() for each in await self._metadata.list(kind, name)]
        if left and await self._metadata.get(NAMESPACE, "", name) is None:
            for kind, each in left:
                await self._metadata.delete(kind, each, "Background")

    async def _contents(self) -> list[Kind]:
        """The kinds that may have objects in a namespace, read again because a new kind may already have some."""
        kinds = (await self._feed.discover()).values()
        return [each for each in kinds if each.is_namespaced and {"list", "delete"} <= each.verbs]

    async def _empty(self, name: str) -> RemainingContent:
        contents = await self._contents()
        remaining = RemainingContent()
        await self._sweep(name, (each for each in contents if key_of(each) == POD_KEY), remaining)
        if remaining.is_empty:
            await self._sweep(name, (each for each in contents if key_of(each) != POD_KEY), remaining)
        return remaining

    async def _sweep(self, name: str, kinds: Iterable[Kind], remaining: RemainingContent) -> None:
        for kind in kinds:
            try:
                if await self._metadata.list(kind, name):
                    await self._metadata.delete_all(kind, name)
                    remaining.count(kind, await self._metadata.list(kind, name))
            except ApiError as error:
                remaining.errors.append(error)

    async def _report(self, path: str, namespace: JsonObject, remaining: RemainingContent) -> JsonObject:
        """Report the remaining content in the conditions; returns the updated namespace."""
        current = namespace.get("status", {}).get("conditions") or []
        conditions = merge_conditions(current, remaining, now=format_time(datetime.now(UTC)))
        if conditions == current or (remaining.is_empty and not current):
            return namespace  # An empty namespace needs no report.
        status = {"status": {"phase": "Terminating", "conditions": conditions}}
        return await self._client.merge(f"{path}/status", status)
