"""Simple paths to a field of a schema: `.spec.color`, `.metadata.labels['app']`.

They name the fields that a field selector may use (`selectableFields`) and the field that a rule reports (`fieldPath`).
"""

from __future__ import annotations

import re

from homeostat.objects.schema.schema import Schema

_step = re.compile(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]").match
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class FieldPathError(ValueError):
    """The text is not a path, or the schema has no such field."""


def resolve(text: str, schema: Schema, *, brackets: bool = True) -> tuple[str, Schema]:
    """The path as causes write it (`spec.labels[app]`) and the schema of the field it leads to."""
    written, at = "", 0
    while at < len(text):
        step = _step(text, at)
        if step is None:
            raise FieldPathError(f"expected [ or . but got: {text[at:]}")
        if step[1] is None and not brackets:
            raise FieldPathError("array notation is not allowed")
        name = step[1] if step[1] is not None else _unescape(step[2])
        is_member = bool(schema.properties)
        below = schema.properties.get(name) if is_member else schema.additional
        if below is None:
            raise FieldPathError("does not refer to a valid field")
        written += (f".{name}" if written else name) if is_member else f"[{name}]"
        schema, at = below, step.end()
    return written, schema


def _unescape(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        if found[1] not in _ESCAPES:
            raise FieldPathError(f"invalid string literal: invalid escape char {found[0]}")
        return _ESCAPES[found[1]]

    return re.sub(r"\\(.)", one, text, flags=re.DOTALL)
