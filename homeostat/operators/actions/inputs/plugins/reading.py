"""What is declared elsewhere, as an input reads it. Pure."""

from __future__ import annotations

import msgspec

from homeostat.objects.json import JsonObject


class RefusedError(Exception):
    """A declaration that will not do, however often it comes."""


class Declaration(msgspec.Struct, frozen=True, kw_only=True):
    """A resource as somebody declares it. `body` has its labels, annotations, spec and action."""

    kind: str
    version: str
    name: str
    body: JsonObject
    source: str
    """Where it stands, for people: a file, say."""

    @property
    def key(self) -> tuple[str, str]:
        return (self.kind, self.name)

    @property
    def title(self) -> str:
        return f"{self.kind} {self.name}"


class Broken(msgspec.Struct, frozen=True):
    """A part of the source that cannot be understood: nobody knows what it declares."""

    source: str
    message: str


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """All that is declared at a revision, which another content always changes."""

    revision: str
    declarations: tuple[Declaration, ...] = ()
    broken: tuple[Broken, ...] = ()
