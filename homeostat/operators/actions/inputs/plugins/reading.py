"""Declarations as an input plugin reads them. Pure."""

from __future__ import annotations

import msgspec

from homeostat.objects.json import JsonObject


class RefusedError(Exception):
    """The declaration is invalid; a retry would not help."""


class Declaration(msgspec.Struct, frozen=True, kw_only=True):
    """One declared resource. `body` has its labels, annotations, spec and action."""

    kind: str
    version: str
    name: str
    body: JsonObject
    source: str
    """Where it is declared, such as a file name; for messages."""

    @property
    def key(self) -> tuple[str, str]:
        return (self.kind, self.name)

    @property
    def title(self) -> str:
        return f"{self.kind} {self.name}"


class Broken(msgspec.Struct, frozen=True):
    """An invalid part of the source: what it declares is unknown."""

    source: str
    message: str


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """All declarations of a revision. Different content has a different revision."""

    revision: str
    declarations: tuple[Declaration, ...] = ()
    broken: tuple[Broken, ...] = ()
