"""Releases deleted claims that no Pod uses, and deleted volumes whose claim is gone: removes the finalizers that
controllers of workloads have set.

Those controllers remove them at once where they run. A plane that has run with simulated workloads may run without them
later, and then nobody else would: neither the claims nor their namespace could be deleted.
"""

from __future__ import annotations

from typing import Final

from homeostat.client.base import Client
from homeostat.objects.errors import ConflictError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import POD
from homeostat.operators.housekeeping.metadata.events import Changed, FeedEvent, Gone, Listed
from homeostat.operators.housekeeping.metadata.feed import BACKOFF, Feed
from homeostat.operators.housekeeping.metadata.kinds import POD_KEY, kind_key
from homeostat.runtime.control.queue import WorkQueue
from homeostat.runtime.control.workers import Workers

_AFTER_S: Final = 2.0
_CLAIM_KEY, _VOLUME_KEY = kind_key("v1", "PersistentVolumeClaim"), kind_key("v1", "PersistentVolume")
_FINALIZERS: Final = {_CLAIM_KEY: "kubernetes.io/pvc-protection", _VOLUME_KEY: "kubernetes.io/pv-protection"}
_Name = tuple[str, str]
"""Namespace and name; volumes have no namespace."""


class StorageProtection:
    def __init__(self, client: Client, feed: Feed, *, after_s: float = _AFTER_S) -> None:
        self._client, self._after_s = client, after_s
        self._held: set[_Name] = set()
        """Deleted ones that are in use, or were at the last check."""
        self._queue: WorkQueue[_Name] = WorkQueue(backoff=BACKOFF)
        self._workers = Workers(self._queue, self._release, name="storage protection")
        feed.subscribe(self._observe, _CLAIM_KEY, _VOLUME_KEY, POD_KEY)

    async def run(self) -> None:
        await self._workers.run()

    def _observe(self, event: FeedEvent) -> None:
        match event:
            case Changed(key, found) if key != POD_KEY:
                if found.deletion_timestamp is not None and _FINALIZERS[key] in (found.finalizers or ()):
                    self._queue.add((found.namespace, found.name), after_s=self._after_s)
            case Gone(key, gone):
                if key != POD_KEY:
                    self._held.discard((gone.namespace, gone.name))
                # A Pod uses claims of its namespace, and a claim uses a volume, which has none.
                self._look_again(gone.namespace if key == POD_KEY else "")
            case Listed():
                # The watch does not deliver deletions that happened while it was interrupted.
                for each in self._held:
                    self._queue.add(each, after_s=self._after_s)

    def _look_again(self, namespace: str) -> None:
        for each in self._held:
            if each[0] == namespace:
                self._queue.add(each, after_s=self._after_s)

    async def _release(self, name: _Name) -> None:
        path = _path(name)
        try:
            found = await self._client.get(path)
            metadata, finalizer = found["metadata"], _FINALIZERS[_CLAIM_KEY if name[0] else _VOLUME_KEY]
            finalizers = metadata.get("finalizers") or ()
            if "deletionTimestamp" not in metadata or finalizer not in finalizers:
                self._held.discard(name)
                return
            # Noted before, because what uses it may end meanwhile.
            self._held.add(name)
            if await (self._is_claim_used(name) if name[0] else self._is_volume_used(found)):
                return
            left = [each for each in finalizers if each != finalizer]
            only = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
            await self._client.merge(path, {"metadata": {**only, "finalizers": left or None}})
        except NotFoundError:
            self._held.discard(name)
        except ConflictError:
            self._queue.add(name, after_s=self._after_s)

    async def _is_claim_used(self, name: _Name) -> bool:
        """By a Pod on a Node, as in Kubernetes: others have not begun to use it."""
        pods, _ = await self._client.list(POD.path(name[0]))
        return any(each["spec"].get("nodeName") and name[1] in _claims(each["spec"]) for each in pods)

    async def _is_volume_used(self, volume: JsonObject) -> bool:
        reference = volume["spec"].get("claimRef") or {}
        if not reference.get("namespace") or not reference.get("name"):
            return False
        try:
            claim = await self._client.get(_path((reference["namespace"], reference["name"])))
        except NotFoundError:
            return False
        return bool(claim["metadata"]["uid"] == reference.get("uid"))


def _path(name: _Name) -> str:
    if name[0]:
        return "/api/v1/namespaces/{}/persistentvolumeclaims/{}".format(*name)
    return f"/api/v1/persistentvolumes/{name[1]}"


def _claims(spec: JsonObject) -> set[str]:
    volumes = spec.get("volumes") or ()
    return {(each.get("persistentVolumeClaim") or {}).get("claimName", "") for each in volumes}
