"""The kinds that a server's discovery tells of. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from homeostat.objects.errors import BadRequestError
from homeostat.objects.kind import Kind


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


class _Group(msgspec.Struct):
    metadata: _Named = _Named()
    versions: list[_Version] = []


class _Document(msgspec.Struct):
    kind: str
    items: list[_Group] = []


_document = msgspec.json.Decoder(_Document)


def read_discovery(document: bytes) -> Iterator[Kind]:
    """The kinds of an aggregated discovery document, in the server's order of preference.

    `BadRequestError` for any other document, which is what servers before Kubernetes 1.27 send.
    """
    try:
        found = _document.decode(document)
    except msgspec.DecodeError as error:
        raise BadRequestError(f"the server's discovery cannot be read: {error}") from error
    if found.kind != "APIGroupDiscoveryList":
        raise BadRequestError("the server is too old: it has no aggregated discovery (Kubernetes 1.27 and later have)")
    for group in found.items:
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
