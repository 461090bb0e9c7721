"""A plugin's state, kept in Kubernetes Secrets.

A state is compressed and split over as many Secrets as it takes. The parts of a new state are written beside those of
the old one, and one write of the first Secret makes them count: a crash leaves the old state or the new one.
"""

from __future__ import annotations

import base64
import zlib

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import SECRET
from homeostat.operators.actions.api import STATE_PREFIX

_PART_BYTES = 700_000
_LARGEST_STATE = 64 << 20
_FIELD_MANAGER = "homeostat-actions"


class SecretState:
    """The state of one resource. The first Secret names the current generation of parts."""

    def __init__(self, client: Client, namespace: str, uid: str) -> None:
        self._client, self._namespace = client, namespace
        self._name = f"{STATE_PREFIX}{uid}"

    async def load(self) -> bytes:
        head = await self._head()
        if head is None:
            return b""
        parts = [await self._part(f"{self._name}-{head[0]}-{at}") for at in range(head[1])]
        inflate = zlib.decompressobj()
        data = inflate.decompress(b"".join(parts), _LARGEST_STATE)
        if inflate.unconsumed_tail:
            raise ValueError(f"the state is larger than {_LARGEST_STATE} bytes")
        return data

    async def save(self, data: bytes) -> None:
        head = await self._head()
        if not data:
            await self._remove(head)
            return
        packed = zlib.compress(data, 6)
        generation = 0 if head is None else head[0] + 1
        parts = [packed[at : at + _PART_BYTES] for at in range(0, len(packed), _PART_BYTES)]
        for at, part in enumerate(parts):
            await self._write(f"{self._name}-{generation}-{at}", {"part": part})
        await self._write(self._name, {"generation": b"%d" % generation, "parts": b"%d" % len(parts)})
        if head is not None:
            await self._remove_parts(head)

    async def _head(self) -> tuple[int, int] | None:
        try:
            data = (await self._client.get(SECRET.path(self._namespace, self._name)))["data"]
        except NotFoundError:
            return None
        return int(base64.b64decode(data["generation"])), int(base64.b64decode(data["parts"]))

    async def _part(self, name: str) -> bytes:
        found = await self._client.get(SECRET.path(self._namespace, name))
        return base64.b64decode(found["data"]["part"])

    async def _write(self, name: str, data: dict[str, bytes]) -> None:
        secret: JsonObject = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": self._namespace},
            "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
        }
        await self._client.apply(SECRET.path(self._namespace, name), secret, manager=_FIELD_MANAGER, force=True)

    async def _remove(self, head: tuple[int, int] | None) -> None:
        if head is not None:
            await self._remove_parts(head)
            await self._delete(self._name)

    async def _remove_parts(self, head: tuple[int, int]) -> None:
        for at in range(head[1]):
            await self._delete(f"{self._name}-{head[0]}-{at}")

    async def _delete(self, name: str) -> None:
        try:
            await self._client.delete(SECRET.path(self._namespace, name))
        except NotFoundError:
            return
