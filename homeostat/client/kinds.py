"""Reads discovery documents. Pure.

A server sends all kinds in one document (aggregated discovery, since Kubernetes 1.27), or a list of group versions and
one document for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import msgspec

from homeostat.objects.errors import BadRequestError
from homeostat.objects.kind import Kind

T = TypeVar("T")


class Discovered(NamedTuple):
    """The kinds of a server in its order of preference: the core group first."""

    kinds: list[Kind]
    stale: tuple[str, ...] = ()
    """Unavailable group versions (`metrics.k8s.io/v1beta1`), which may have more kinds."""


class GroupVersion(NamedTuple):
    group: str
    version: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"


class _Named(msgspec.Struct, frozen=True):
    name: str = ""
    kind: str = ""


class _Resource(msgspec.Struct, rename="camel"):
    resource: str
    scope: str
    response_kind: _Named | None = None
    singular_resource: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: frozenset[str] = frozenset()


class _Version(msgspec.Struct):
    version: str
    resources: list[_Resource] = []
    freshness: str = ""


class _Group(msgspec.Struct):
    metadata: _Named = _Named()
    versions: list[_Version] = []


class _ListedVersion(msgspec.Struct, frozen=True):
    version: str = ""


class _ListedGroup(msgspec.Struct, rename="camel"):
    name: str
    versions: list[_ListedVersion] = []
    preferred_version: _ListedVersion = _ListedVersion()


class _Document(msgspec.Struct):
    """An APIGroupDiscoveryList has items, APIVersions (of the core group) versions, an APIGroupList groups."""

    kind: str
    items: list[_Group] = []
    versions: list[str] | None = None
    groups: list[_ListedGroup] | None = None


class _ListedResource(msgspec.Struct, rename="camel"):
    name: str
    kind: str
    namespaced: bool
    singular_name: str = ""
    short_names: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    verbs: frozenset[str] | None = None


class _ResourceList(msgspec.Struct):
    resources: list[_ListedResource] | None


_document = msgspec.json.Decoder(_Document)
_resource_list = msgspec.json.Decoder(_ResourceList)


def read_discovery(document: bytes) -> Discovered | list[GroupVersion]:
    """Reads `/api` or `/apis`: the kinds, or the group versions. `BadRequestError` for any other document."""
    found = _decoded(_document, document)
    match found.kind:
        case "APIGroupDiscoveryList":
            return Discovered(list(_kinds(found.items)), tuple(_stale(found.items)))
        case "APIVersions":
            return [GroupVersion("", each) for each in found.versions or ()]
        case "APIGroupList":
            return [GroupVersion(each.name, version) for each in found.groups or () for version in _preferred(each)]
    raise BadRequestError(f'the server\'s discovery cannot be read: "{found.kind}" is not a list of API groups')


def read_group_version(document: bytes, of: GroupVersion) -> list[Kind]:
    """The kinds of an APIResourceList, without subresources."""
    return [
        Kind(
            of.group,
            of.version,
            each.name,
            each.kind,
            is_namespaced=each.namespaced,
            singular=each.singular_name,
            short_names=each.short_names or (),
            categories=each.categories or (),
            verbs=each.verbs or frozenset(),
        )
        for each in _decoded(_resource_list, document).resources or ()
        if "/" not in each.name
    ]


def _decoded(decoder: msgspec.json.Decoder[T], document: bytes) -> T:
    try:
        return decoder.decode(document)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadRequestError(f"the server's discovery cannot be read: {error}") from error


def _preferred(group: _ListedGroup) -> list[str]:
    """The versions, the preferred one first."""
    return sorted((each.version for each in group.versions), key=lambda each: each != group.preferred_version.version)


def _stale(groups: list[_Group]) -> Iterator[str]:
    for group in groups:
        for each in group.versions:
            if each.freshness == "Stale":
                yield GroupVersion(group.metadata.name, each.version).api_version


def _kinds(groups: list[_Group]) -> Iterator[Kind]:
    for group in groups:
        for version in group.versions:
            for each in version.resources:
                if each.response_kind is not None:
                    yield _kind(group.metadata.name, version.version, each, each.response_kind.kind)


def _kind(group: str, version: str, each: _Resource, kind: str) -> Kind:
    return Kind(
        group,
        version,
        each.resource,
        kind,
        is_namespaced=each.scope == "Namespaced",
        singular=each.singular_resource,
        short_names=each.short_names,
        categories=each.categories,
        verbs=each.verbs,
    )
