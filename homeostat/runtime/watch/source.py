"""The source of a watch: a collection with its selectors, and the part of a client that reads it.

A source is a value, so that readers of equal sources share a watch.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from functools import lru_cache
from typing import NamedTuple, Protocol

import msgspec

_OF_NAMESPACES = frozenset({"status", "finalize"})
_METADATA = "application/json;as={};g=meta.k8s.io;v=v1,application/json"


def accept_metadata(kind: str) -> str:
    """The Accept header for `PartialObjectMetadata` or `PartialObjectMetadataList`; a server without them sends all."""
    return _METADATA.format(kind)


class Api(Protocol):
    """The part of a client that a watcher needs."""

    async def fetch(
        self, method: str, path: str, query: Mapping[str, object] | None = None, *, accept: str = ""
    ) -> bytes: ...

    def lines(self, path: str, *, accept: str = "", **query: object) -> AsyncGenerator[bytes, None]: ...


class Place(NamedTuple):
    """The collection of a path, without its version: group, plural and namespace."""

    group: str
    plural: str
    namespace: str = ""


def place_of(path: str) -> Place:
    """The place of the path of a collection, an object or a subresource."""
    parts = path.split("/")
    group, rest = ("", parts[3:]) if parts[1:2] == ["api"] else ("".join(parts[2:3]), parts[4:])
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] not in _OF_NAMESPACES:
        namespace, rest = rest[1], rest[2:]
    return Place(group, "".join(rest[:1]), namespace)


_source_place = lru_cache(maxsize=1024)(place_of)


class Source(msgspec.Struct, frozen=True):
    """The path of a collection, of all namespaces or of one, with its selectors."""

    path: str
    label_selector: str = ""
    field_selector: str = ""
    is_metadata_only: bool = False
    skips_status: bool = False
    """For readers that ignore the status: a plane does not send status changes, other servers do."""

    @property
    def place(self) -> Place:
        return _source_place(self.path)

    @property
    def is_whole(self) -> bool:
        """Whether there are no selectors."""
        return not self.label_selector and not self.field_selector

    def query(self) -> dict[str, object]:
        query: dict[str, object] = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        return query | {"homeostatSkipStatus": "true"} if self.skips_status else query

    def accept(self, kind: str) -> str:
        return accept_metadata(kind) if self.is_metadata_only else ""
