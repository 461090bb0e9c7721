"""The default objects of every namespace: the service account `default`, and the ConfigMap `kube-root-ca.crt` with the
certificate authority of the server. Both are created again after a deletion, and the ConfigMap is restored after a
change.
"""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.objects.errors import AlreadyExistsError, ForbiddenError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.housekeeping.metadata.events import Changed, FeedEvent, Gone, Listed
from homeostat.operators.housekeeping.metadata.feed import BACKOFF, Feed
from homeostat.operators.housekeeping.metadata.kinds import CONFIG_MAP_KEY, NAMESPACE_KEY, SERVICE_ACCOUNT_KEY
from homeostat.runtime.control.queue import Priority, WorkQueue
from homeostat.runtime.control.workers import Workers

ACCOUNT = "default"
CERTIFICATE = "kube-root-ca.crt"
_DESCRIPTION = "The certificate authority that signed the certificate of this control plane."
_WORKERS = 4


class NamespaceDefaults:
    def __init__(self, client: Client, feed: Feed, *, authority: str) -> None:
        self._client = client
        self._authority = authority
        self._queue: WorkQueue[str] = WorkQueue(backoff=BACKOFF)
        self._workers = Workers(self._queue, self._create_defaults, name="namespace defaults", count=_WORKERS)
        self._namespaces: set[str] = set()
        feed.subscribe(self._observe, NAMESPACE_KEY, SERVICE_ACCOUNT_KEY, CONFIG_MAP_KEY)

    async def run(self) -> None:
        await self._workers.run()

    def _observe(self, event: FeedEvent) -> None:
        match event:
            case Changed(key, metadata) if key == NAMESPACE_KEY and metadata.deletion_timestamp is None:
                self._namespaces.add(metadata.name)
                self._queue.add(metadata.name)
            case Gone(key, metadata) if key == NAMESPACE_KEY:
                self._namespaces.discard(metadata.name)
            case Gone(key, metadata) if key == SERVICE_ACCOUNT_KEY and metadata.name == ACCOUNT:
                self._queue.add(metadata.namespace)
            case Changed(key, metadata) | Gone(key, metadata) if key == CONFIG_MAP_KEY and metadata.name == CERTIFICATE:
                self._queue.add(metadata.namespace)
            case Listed(key) if key in {SERVICE_ACCOUNT_KEY, CONFIG_MAP_KEY}:
                # The watch does not deliver deletions that happened while it was interrupted.
                for name in self._namespaces:
                    self._queue.add(name, priority=Priority.RESYNC)

    async def _create_defaults(self, namespace: str) -> None:
        path = f"/api/v1/namespaces/{namespace}"
        try:
            await self._ensure(f"{path}/serviceaccounts", _account())
            await self._ensure(f"{path}/configmaps", certificate(self._authority))
        except (NotFoundError, ForbiddenError):
            # The namespace is terminating or deleted. Any other refusal is retried.
            if await self._is_active(path):
                raise

    async def _is_active(self, path: str) -> bool:
        try:
            return "deletionTimestamp" not in (await self._client.get(path))["metadata"]
        except NotFoundError:
            return False

    async def _ensure(self, collection: str, wanted: JsonObject) -> None:
        path = f"{collection}/{wanted['metadata']['name']}"
        try:
            found = await self._client.get(path)
        except NotFoundError:
            try:
                await self._client.create(collection, wanted)
            except AlreadyExistsError:
                return
            return
        if found.get("data") != wanted.get("data") and "deletionTimestamp" not in found["metadata"]:
            await self._client.update(path, {**found, "data": wanted["data"]})


def _account() -> JsonObject:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT}}


def certificate(authority: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CERTIFICATE, "annotations": {"kubernetes.io/description": _DESCRIPTION}},
        "data": {"ca.crt": authority},
    }
