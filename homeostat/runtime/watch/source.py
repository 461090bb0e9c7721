"""What is watched, and through what: a collection with its selectors, and the part of a client that reads it.

A source is a value, so those who name the same one can share a watch.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

_OF_NAMESPACES = frozenset({"status", "finalize"})
_METADATA = "application/json;as={};g=meta.k8s.io;v=v1,application/json"


def accept_metadata(kind: str) -> str:
    """The Accept header for `PartialObjectMetadata` or `PartialObjectMetadataList`; who has neither sends all."""
    return _METADATA.format(kind)


class Api(Protocol):
    """What a watcher needs of a client."""

    async def fetch(
        self, method: str, path: str, query: Mapping[str, object] | None = None, *, accept: str = ""
    ) -> bytes: ...

    def lines(self, path: str, *, accept: str = "", **query: object) -> AsyncGenerator[bytes, None]: ...


class Place(NamedTuple):
    """What a path is about, whatever its version: a collection of a group, in one namespace or in none."""

    group: str
    plural: str
    namespace: str = ""


def place_of(path: str) -> Place:
    """Of a collection, an object or a subresource."""
    parts = path.split("/")
    group, rest = ("", parts[3:]) if parts[1:2] == ["api"] else ("".join(parts[2:3]), parts[4:])
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] not in _OF_NAMESPACES:
        namespace, rest = rest[1], rest[2:]
    return Place(group, "".join(rest[:1]), namespace)


_source_place = lru_cache(maxsize=1024)(place_of)


@dataclass(slots=True, frozen=True)
class Source:
    """Which objects: a collection's path, all of it or one namespace's, and what the server selects of it."""

    path: str
    label_selector: str = ""
    field_selector: str = ""
    is_metadata_only: bool = False
    skips_status: bool = False
    """For readers that keep no field of a status: a plane leaves out status writes, other servers send them."""

    @property
    def place(self) -> Place:
        return _source_place(self.path)

    @property
    def is_whole(self) -> bool:
        """Every object of the place is in it."""
        return not self.label_selector and not self.field_selector

    def query(self) -> dict[str, object]:
        query: dict[str, object] = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        return query | {"homeostatSkipStatus": "true"} if self.skips_status else query

    def accept(self, kind: str) -> str:
        return accept_metadata(kind) if self.is_metadata_only else ""
