"""Templates of `id` and `alias`: the name of a resource, made from its payload. Pure.

{{/name}} - {{/version}}      {{lowercase /name}}      /id
"""

from __future__ import annotations

from dataclasses import dataclass

from homeostat.objects.json import Json
from homeostat.objects.memory.cache import cached
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.payload.value import text_of
from homeostat.operators.sync.engine.templates.expression import (
    Piece,
    Reference,
    evaluate,
    parse,
    pointers,
    segment_of,
)


@dataclass(frozen=True, slots=True)
class Identity:
    text: str
    pieces: tuple[Piece, ...]

    @property
    def pointers(self) -> list[str]:
        return pointers(self.pieces)

    @property
    def plain(self) -> str | None:
        """The pointer, if the template is nothing but one."""
        only = self.pieces[0] if len(self.pieces) == 1 else None
        return only.pointer if isinstance(only, Reference) else None

    def render(self, payload: Json) -> str:
        """One path segment, with `%2F` for a slash; `UnrenderedError` names the pointer that has no value."""

        def lookup(at: str) -> str | None:
            found = text_of(pointer.get(payload, at))
            return (found.strip() or None) if found is not None else None

        found = "".join(each if isinstance(each, str) else evaluate(each, lookup) for each in self.pieces).strip()
        if not found:
            raise ValidationError(f'identity "{self.text}" is blank')
        if found in (".", "..", "_"):
            raise ValidationError(f'identity "{found}" of "{self.text}" cannot be a path segment')
        return segment_of(found)


@cached(1024)
def parse_identity(text: str) -> Identity:
    plain = text.strip()
    if not plain:
        raise ValidationError("an identity template is empty")
    if plain.startswith("/") and "{{" not in plain:
        return Identity(text, (Reference(plain),))
    return Identity(text, parse(plain))
