"""How many Pods controllers of any kind want, by their subresource `scale`, as for a kind of one's own."""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.kind import Kind
from homeostat.operators.workloads.api import Meta
from homeostat.operators.workloads.budgets.owners import Other

_PART: Final = "scale"


class ScaleError(Exception):
    """The size of a controller is not known; the text says why."""


class _Resource(msgspec.Struct, frozen=True):
    name: str
    kind: str = ""


class _Resources(msgspec.Struct, frozen=True):
    resources: tuple[_Resource, ...] = ()


class _Spec(msgspec.Struct, frozen=True):
    replicas: int = 0


class _Scale(msgspec.Struct, frozen=True):
    metadata: Meta
    spec: _Spec = _Spec()


class Scales:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def size_of(self, other: Other, namespace: str) -> int:
        kind = await self._kind(other)
        try:
            path = kind.path(namespace, other.owner.name, _PART)
            found = msgspec.convert(await self._client.get(path), _Scale)
        except NotFoundError:
            raise ScaleError(f'found no controllers for pod "{other.pod}"') from None
        if found.metadata.uid != other.owner.uid:
            raise ScaleError(f'found no controllers for pod "{other.pod}"')
        return found.spec.replicas

    async def _kind(self, other: Other) -> Kind:
        """Its kind, which can be scaled."""
        group, _, version = other.owner.api_version.rpartition("/")
        try:
            path = f"/apis/{other.owner.api_version}" if group else f"/api/{version}"
            found = msgspec.convert(await self._client.get(path), _Resources).resources
        except ApiError:
            found = ()
        names = {each.name for each in found}
        plural = next((each.name for each in found if each.kind == other.owner.kind and "/" not in each.name), "")
        if not plural:
            raise ScaleError(f'no matches for kind "{other.owner.kind}" in version "{other.owner.api_version}"')
        if f"{plural}/{_PART}" not in names:
            title = f"{plural}.{group}" if group else plural
            raise ScaleError(f"{title} does not implement the scale subresource")
        return Kind(group, version, plural, other.owner.kind, is_namespaced=True)
