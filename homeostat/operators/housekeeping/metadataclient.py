"""Reads and writes objects by their metadata alone."""

from __future__ import annotations

from collections.abc import Mapping

from homeostat.client.base import MERGE_PATCH, Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.housekeeping.kinds import Kind
from homeostat.operators.housekeeping.metadata import PARTIAL, PARTIAL_LIST, Metadata, decode_list, decode_metadata

_PAGE = 500


class MetadataClient:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def get(self, kind: Kind, namespace: str, name: str) -> Metadata | None:
        try:
            return decode_metadata(await self._client.fetch("GET", kind.path(namespace, name), accept=PARTIAL))
        except NotFoundError:
            return None

    async def list(self, kind: Kind, namespace: str = "") -> list[Metadata]:
        """All objects of a namespace, or of all of them; none where the kind is not served any more."""
        found: list[Metadata] = []
        token = ""
        while True:
            query = {"limit": _PAGE, "continue": token}
            try:
                page = await self._client.fetch("GET", kind.collection(namespace), query, accept=PARTIAL_LIST)
            except NotFoundError:
                return found
            items, token = decode_list(page)
            found += items
            if not token:
                return found

    async def delete(self, kind: Kind, metadata: Metadata, policy: str) -> None:
        """Only while it is as `metadata` says; `ConflictError` where it has changed since."""
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": {"uid": metadata.uid, "resourceVersion": metadata.resource_version},
            "propagationPolicy": policy,
        }
        try:
            await self._client.fetch("DELETE", kind.path(metadata.namespace, metadata.name), body=options)
        except NotFoundError:
            return

    async def delete_collection(self, kind: Kind, namespace: str = "") -> None:
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        path = kind.collection(namespace)
        try:
            await self._client.fetch("DELETE", path, body=options, accept=PARTIAL_LIST)
        except NotFoundError:
            return

    async def edit(self, kind: Kind, metadata: Metadata, fields: Mapping[str, object]) -> None:
        """Set fields of its metadata, None to take one away; `ConflictError` where it has changed since."""
        patch: JsonObject = {
            "metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version, **fields},
        }
        path = kind.path(metadata.namespace, metadata.name)
        try:
            await self._client.fetch("PATCH", path, body=patch, content_type=MERGE_PATCH, accept=PARTIAL)
        except NotFoundError:
            return

    async def drop_finalizer(self, kind: Kind, metadata: Metadata, finalizer: str) -> None:
        left = [each for each in metadata.finalizers or () if each != finalizer]
        await self.edit(kind, metadata, {"finalizers": left or None})
