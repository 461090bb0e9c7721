"""Reads and writes the metadata of objects of any kind.

A deleted object is not an error: it is read as None and needs no deletion.
"""

from __future__ import annotations

from collections.abc import Mapping

from homeostat.client.base import Client
from homeostat.client.requests import Request, Requests, Selection
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.operators.housekeeping.metadata.metadata import Metadata, Partial, Policy
from homeostat.runtime.cache.decoding import GarbledError, Projection
from homeostat.runtime.watch.source import accept_metadata

_ONE, _MANY = accept_metadata("PartialObjectMetadata"), accept_metadata("PartialObjectMetadataList")


class MetadataClient:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._projection = Projection(Partial)

    async def get(self, kind: Kind, namespace: str, name: str) -> Metadata | None:
        answer = await self._send(Requests(kind).get(name, namespace))
        return None if answer is None else self._projection.object(answer).metadata

    async def list(self, kind: Kind, namespace: str = "") -> list[Metadata]:
        """All objects of a namespace, or of all namespaces; empty if the kind is not served any more."""
        found: list[Metadata] = []
        token = ""
        while True:
            answer = await self._send(Requests(kind).list(Selection(namespace), token=token), accept=_MANY)
            if answer is None:
                return found
            page = self._projection.page(answer)
            if page.unreadable:
                # If it were ignored, the namespace or definition would be deleted before it.
                first = page.unreadable[0]
                raise GarbledError(f"{kind.title} {first.namespace}/{first.name}: {first.reason}")
            found += [each.metadata for each in page.objects]
            token = page.token
            if not token:
                return found

    async def delete(self, kind: Kind, metadata: Metadata, policy: Policy) -> None:
        """Deletes exactly this version; `ConflictError` if the object has changed since."""
        name, namespace, version = metadata.name, metadata.namespace, metadata.resource_version
        await self._send(Requests(kind).delete(name, namespace, uid=metadata.uid, version=version, propagation=policy))

    async def delete_all(self, kind: Kind, namespace: str = "") -> None:
        await self._send(Requests(kind).delete_all(Selection(namespace), propagation="Background"), accept=_MANY)

    async def edit(self, kind: Kind, metadata: Metadata, fields: Mapping[str, object]) -> None:
        """Sets fields of the metadata, None removes one; `ConflictError` if the object has changed since."""
        patch: JsonObject = {
            "metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version, **fields},
        }
        await self._send(Requests(kind).patch(patch, metadata.name, metadata.namespace))

    async def drop_finalizer(self, kind: Kind, metadata: Metadata, finalizer: str) -> None:
        left = [each for each in metadata.finalizers or () if each != finalizer]
        await self.edit(kind, metadata, {"finalizers": left or None})

    async def _send(self, request: Request, *, accept: str = _ONE) -> bytes | None:
        """The answer; None if the object or its kind does not exist."""
        method, path, query, body, content_type = request
        try:
            return await self._client.fetch(method, path, query, body=body, content_type=content_type, accept=accept)
        except NotFoundError:
            return None
