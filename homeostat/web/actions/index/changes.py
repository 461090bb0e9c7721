"""Values of the index: resources with their kinds, changes of resources, and objects without a number. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec

from homeostat.objects.kind import Kind
from homeostat.operators.actions.api import ID, RESOURCE_TYPE
from homeostat.web.actions.index.entry import Entry, TypeEntry

Series = Literal["resources", "types"]


class IndexedResource(msgspec.Struct, frozen=True, gc=False):
    """A resource and its kind."""

    kind: Kind
    entry: Entry

    @property
    def path(self) -> str:
        return self.kind.path(self.entry.metadata.namespace, self.entry.metadata.name)


class ResourceChange(msgspec.Struct, frozen=True, gc=False):
    """A change of one resource: created if `old` is None, deleted if `new` is. `revision` is the server's."""

    old: IndexedResource | None
    new: IndexedResource | None
    revision: int


class Unnumbered(msgspec.Struct, frozen=True):
    """A type (`series` is "types") or a resource ("resources") that needs another number than its label has; `former`
    is the number that it had before, if any.
    """

    series: Series
    uid: str
    path: str
    version: str
    label: str = ""
    former: int = 0


def unnumbered_type(resource_type: TypeEntry, former: int = 0) -> Unnumbered:
    metadata = resource_type.metadata
    path = RESOURCE_TYPE.kind.path("", metadata.name)
    return Unnumbered("types", metadata.uid, path, metadata.resource_version, metadata.labels.get(ID, ""), former)


def unnumbered(indexed: IndexedResource, former: int = 0) -> Unnumbered:
    metadata = indexed.entry.metadata
    return Unnumbered(
        "resources", metadata.uid, indexed.path, metadata.resource_version, metadata.labels.number, former
    )
