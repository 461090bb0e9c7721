"""What is watched, and through what: a collection with its selectors, and the part of a client that reads it.

A source is a value, so those who name the same one can share a watch.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Protocol

_METADATA = "application/json;as={};g=meta.k8s.io;v=v1,application/json"


class Api(Protocol):
    """What a watcher needs of a client."""

    async def fetch(
        self, method: str, path: str, query: Mapping[str, object] | None = None, *, accept: str = ""
    ) -> bytes: ...

    def lines(self, path: str, *, accept: str = "", **query: object) -> AsyncGenerator[bytes, None]: ...


@dataclass(slots=True, frozen=True)
class Source:
    """Which objects: a collection's path, all of it or one namespace's, and what the server selects of it."""

    path: str
    label_selector: str = ""
    field_selector: str = ""
    is_metadata_only: bool = False

    def query(self) -> dict[str, object]:
        return {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}

    def accept(self, kind: str) -> str:
        return _METADATA.format(kind) if self.is_metadata_only else ""
