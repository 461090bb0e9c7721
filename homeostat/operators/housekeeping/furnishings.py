"""What every namespace has: the service account `default`, and the ConfigMap `kube-root-ca.crt` with the certificate
that clients inside it trust the server by. Both are made again when they are deleted, the ConfigMap also when it is
changed.
"""

from __future__ import annotations

from homeostat.client.base import Client
from homeostat.objects.errors import AlreadyExistsError, ForbiddenError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.housekeeping.feed import Changed, Feed, Gone, News
from homeostat.operators.housekeeping.kinds import NAMESPACE
from homeostat.operators.housekeeping.queue import WorkQueue

ACCOUNT = "default"
CERTIFICATE = "kube-root-ca.crt"
_DESCRIPTION = "The certificate authority that this control plane's own certificate is signed by."
_WORKERS = 4


class Furnishings:
    def __init__(self, client: Client, feed: Feed, *, authority: str) -> None:
        self._client = client
        self._authority = authority
        self._queue = WorkQueue("namespace furnishings")
        feed.subscribe(self._observe)

    async def run(self) -> None:
        await self._queue.run(self._furnish, workers=_WORKERS)

    def _observe(self, news: News) -> None:
        match news:
            case Changed(kind, metadata) if kind.key == NAMESPACE and metadata.deletion_timestamp is None:
                self._queue.add(metadata.name)
            case Gone(kind, metadata) if (kind.key, metadata.name) == ("ServiceAccount.", ACCOUNT):
                self._queue.add(metadata.namespace)
            case Changed(kind, metadata) | Gone(kind, metadata) if metadata.name == CERTIFICATE:
                if kind.key == "ConfigMap.":
                    self._queue.add(metadata.namespace)

    async def _furnish(self, namespace: str) -> None:
        path = f"/api/v1/namespaces/{namespace}"
        try:
            await self._ensure(f"{path}/serviceaccounts", _account())
            await self._ensure(f"{path}/configmaps", certificate(self._authority))
        except (NotFoundError, ForbiddenError):
            # The namespace is going or gone. Any other reason to refuse is an error worth retrying.
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
