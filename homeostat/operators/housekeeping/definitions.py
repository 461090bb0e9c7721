"""Deletion of CustomResourceDefinitions: their objects go first, with all that their finalizers ask for."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.timestamp import format_time
from homeostat.operators.housekeeping.feed import Changed, Feed, Gone, Listed, News
from homeostat.operators.housekeeping.kinds import DEFINITION, Kind
from homeostat.operators.housekeeping.metadataclient import MetadataClient
from homeostat.operators.housekeeping.queue import WorkQueue

log = logging.getLogger(__name__)

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_COLLECTION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_WORKERS = 2
_SOON_S = 0.02
_AGAIN_S = 10.0


class Definitions:
    def __init__(self, client: Client, feed: Feed) -> None:
        self._client = client
        self._metadata = MetadataClient(client)
        self._feed = feed
        self._queue = WorkQueue("definition deletion")
        self._waiting: set[str] = set()
        feed.subscribe(self._observe)

    async def run(self) -> None:
        await self._queue.run(self._delete, workers=_WORKERS)

    def _observe(self, news: News) -> None:
        match news:
            case Changed(kind, metadata) if kind.key == DEFINITION and metadata.deletion_timestamp is not None:
                if FINALIZER in (metadata.finalizers or ()):
                    self._queue.add(metadata.name)
            case Gone(kind, _) if (name := f"{kind.plural}.{kind.group}") in self._waiting:
                self._queue.add_after(name, _SOON_S)
            case Listed():
                self._queue.add_all(self._waiting)

    async def _delete(self, name: str) -> None:
        self._waiting.discard(name)
        path = f"{_COLLECTION}/{name}"
        try:
            definition = await self._client.get(path)
        except NotFoundError:
            return
        metadata = definition["metadata"]
        if "deletionTimestamp" not in metadata or FINALIZER not in metadata.get("finalizers", ()):
            return
        kind = kind_of(definition)
        if kind is not None and not self._feed.has_listed(kind.key):
            # Nobody could tell afterwards that owners among its objects are gone.
            self._queue.add_after(name, _SOON_S)
            return
        self._waiting.add(name)
        if kind is not None and not await self._empty(kind):
            await self._report(
                path, definition, "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"
            )
            self._queue.add_after(name, _AGAIN_S)
            return
        self._waiting.discard(name)
        await self._release(path, definition)

    async def _empty(self, kind: Kind) -> bool:
        """Delete every object; whether none is left."""
        objects = await self._metadata.list(kind)
        for namespace in sorted({each.namespace for each in objects}):
            await self._metadata.delete_collection(kind, namespace)
        return not objects or not await self._metadata.list(kind)

    async def _release(self, path: str, definition: JsonObject) -> None:
        left = [each for each in definition["metadata"]["finalizers"] if each != FINALIZER]
        if left:
            await self._report(path, definition, "False", "InstanceDeletionCompleted", "removed all instances")
        await self._client.merge(path, {"metadata": {"uid": definition["metadata"]["uid"], "finalizers": left or None}})
        log.info("definition emptied", extra={"definition": definition["metadata"]["name"]})

    async def _report(self, path: str, definition: JsonObject, status: str, reason: str, message: str) -> None:
        conditions = definition.get("status", {}).get("conditions") or []
        former: JsonObject = next((each for each in conditions if each["type"] == "Terminating"), {})
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
        others = [each for each in conditions if each["type"] != "Terminating"]
        await self._client.merge(f"{path}/status", {"status": {"conditions": [*others, condition]}})


def kind_of(definition: JsonObject) -> Kind | None:
    """The kind that a definition serves; None where its names are not accepted or none of its versions is served."""
    spec = definition["spec"]
    served = next((each["name"] for each in spec["versions"] if each.get("served")), None)
    conditions = definition.get("status", {}).get("conditions") or ()
    is_established = any((each["type"], each["status"]) == ("Established", "True") for each in conditions)
    if served is None or not is_established:
        return None
    return Kind(
        group=spec["group"],
        version=served,
        kind=spec["names"]["kind"],
        plural=spec["names"]["plural"],
        is_namespaced=spec["scope"] == "Namespaced",
        verbs=frozenset({"list", "delete"}),
    )
