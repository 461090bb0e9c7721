"""How many Pods controllers of any kind want, by their subresource `scale`, as for a kind of one's own.

Whoever creates Pods chooses their owners, so which kinds a group version has is read once in a while, and not for each
owner.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from homeostat.client.base import Client
from homeostat.objects.errors import ApiError, BadRequestError, NotFoundError
from homeostat.objects.kind import Kind
from homeostat.operators.workloads.api import Meta
from homeostat.operators.workloads.budgets.owners import Other

_PART: Final = "scale"
_KEPT_S: Final = 30.0
_MISSED_S: Final = 2.0
"""A kind that was not there, or could not be scaled, is looked for again after this time."""
_MOST_KEPT: Final = 256
"""Group versions."""
_is_group_version = re.compile(r"(?:[a-z0-9][-a-z0-9.]*/)?[a-z0-9][-a-z0-9]*").fullmatch


class ScaleError(Exception):
    """The size of a controller is not known; the text says why."""


class _Resource(msgspec.Struct, frozen=True):
    name: str
    kind: str = ""


class _Resources(msgspec.Struct, frozen=True):
    resources: tuple[_Resource, ...] = ()


class _Known(NamedTuple):
    read_at_s: float
    resources: tuple[_Resource, ...]


class _Spec(msgspec.Struct, frozen=True):
    replicas: int = 0


class _Scale(msgspec.Struct, frozen=True):
    metadata: Meta
    spec: _Spec = _Spec()


class Scales:
    def __init__(self, client: Client, clock: Callable[[], float]) -> None:
        """`clock` counts seconds."""
        self._client, self._clock = client, clock
        self._known: dict[str, _Known] = {}
        """By group version."""

    async def size_of(self, other: Other, namespace: str) -> int:
        kind = await self._kind(other)
        try:
            path = kind.path(namespace, other.owner.name, _PART)
            found = msgspec.convert(await self._client.get(path), _Scale)
        except (NotFoundError, BadRequestError):
            raise ScaleError(f'found no controllers for pod "{other.pod}"') from None
        except msgspec.ValidationError as error:
            raise ScaleError(f'the scale of {kind.title} "{other.owner.name}" is unreadable: {error}') from error
        if found.metadata.uid != other.owner.uid:
            raise ScaleError(f'found no controllers for pod "{other.pod}"')
        return found.spec.replicas

    async def _kind(self, other: Other) -> Kind:
        """Its kind, which can be scaled."""
        name, api_version = other.owner.kind, other.owner.api_version
        group, _, version = api_version.rpartition("/")
        known = self._known.get(api_version)
        age_s = self._clock() - known.read_at_s if known is not None else _KEPT_S
        if known is not None and age_s < (_KEPT_S if _can_scale(known.resources, name) else _MISSED_S):
            found = known.resources
        else:
            found = await self._read(api_version) if _is_group_version(api_version) else ()
        plural = _plural(found, name)
        if not plural:
            raise ScaleError(f'no matches for kind "{name}" in version "{api_version}"')
        if not _can_scale(found, name):
            title = f"{plural}.{group}" if group else plural
            raise ScaleError(f"{title} does not implement the scale subresource")
        return Kind(group, version, plural, name, is_namespaced=True)

    async def _read(self, api_version: str) -> tuple[_Resource, ...]:
        """What is kept also if the server does not have this group version, but not if it fails."""
        found: tuple[_Resource, ...] = ()
        try:
            path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
            found = msgspec.convert(await self._client.get(path), _Resources).resources
        except NotFoundError:
            pass
        except ApiError:
            return ()
        except msgspec.ValidationError as error:
            raise ScaleError(f'the resources of "{api_version}" are unreadable: {error}') from error
        if len(self._known) >= _MOST_KEPT:
            self._known.clear()
        self._known[api_version] = _Known(self._clock(), found)
        return found


def _plural(resources: Sequence[_Resource], kind: str) -> str:
    return next((each.name for each in resources if each.kind == kind and "/" not in each.name), "")


def _can_scale(resources: Sequence[_Resource], kind: str) -> bool:
    wanted = f"{_plural(resources, kind)}/{_PART}"
    return any(each.name == wanted for each in resources)
