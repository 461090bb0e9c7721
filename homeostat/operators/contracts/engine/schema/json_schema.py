"""Compiles and applies JSON Schemas from bundles. Pure.

Schemas come from outside. A reference to another file or URL makes a schema invalid, patterns are matched in linear
time, and the work is limited (`cost.py`), so that no schema can block a validator.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import jsonschema_rs

from homeostat.objects.json import Json
from homeostat.objects.memory.cache import cached
from homeostat.operators.contracts.engine.schema.cost import SchemaCost, size_of
from homeostat.operators.contracts.engine.schema.json_file import read_json

MAX_SCHEMA_BYTES: Final = 1024 * 1024
MAX_VIOLATIONS: Final = 200
_MOST_OPTIONS: Final = 20
_MOST_LISTED: Final = 20_000
"""Values of a document whose violations of our own schemas are listed."""
_TOO_MUCH: Final = "the schema makes too much work for this document; use fewer values, alternatives or references"
_NOT_LISTED: Final = "the document does not match the schema, and both are too large to say where"


class InvalidSchemaError(ValueError):
    """The file is JSON, but not a JSON Schema."""


class Violation:
    """A leaf error: a place in the document and a message."""

    __slots__ = ("message", "place")

    def __init__(self, place: tuple[str | int, ...], message: str) -> None:
        self.place, self.message = place, message

    @property
    def path(self) -> str:
        return ".".join(map(str, self.place))

    def __str__(self) -> str:
        return f"at '/{'/'.join(map(str, self.place))}': {self.message}" if self.place else self.message


class JsonSchema:
    """A schema that `is_ours` takes work in proportion to the document, and is not counted."""

    __slots__ = ("_cost", "_is_ours", "_validator")

    def __init__(self, schema: Json, *, is_ours: bool = False) -> None:
        self._is_ours = is_ours
        self._cost = SchemaCost(schema)
        if not self._cost.is_compilable:
            raise InvalidSchemaError("its patterns have too many states; use fewer and shorter repetitions")
        try:
            self._validator: Any = jsonschema_rs.validator_for(
                schema, retriever=_refuse, pattern_options=jsonschema_rs.RegexOptions()
            )
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            raise InvalidSchemaError(_first_line(error)) from error

    def violations(self, value: Json) -> list[Violation]:
        """Return all leaf errors sorted by place, at most `MAX_VIOLATIONS`; one if there may be too many to collect."""
        if not self._is_ours and not self._cost.is_affordable(value):
            return [Violation((), _TOO_MUCH)]
        if self._validator.is_valid(value):
            return []
        is_listable = size_of(value) <= _MOST_LISTED if self._is_ours else self._cost.is_listable(value)
        if not is_listable:
            return [self._first(value)]
        found: list[Violation] = []
        for leaf in _leaves(self._validator.iter_errors(value)):
            found.append(_violation(leaf))
            if len(found) == MAX_VIOLATIONS:
                break
        return sorted(found, key=lambda each: (tuple(map(str, each.place)), each.message))

    def _first(self, value: Json) -> Violation:
        if self._cost.has_alternatives and not self._is_ours:
            return Violation((), _NOT_LISTED)
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            return _violation(error)
        raise AssertionError("unreachable")


@cached(256, longest=64 * 1024)
def compile_schema(data: bytes) -> JsonSchema:
    """Compile a schema; raises `InvalidJsonError` or `InvalidSchemaError`. Equal bytes are compiled once."""
    if len(data) > MAX_SCHEMA_BYTES:
        raise InvalidSchemaError(f"the schema is {len(data)} bytes long, more than {MAX_SCHEMA_BYTES}")
    return JsonSchema(read_json(data))


def _violation(error: Any) -> Violation:
    return Violation(tuple(error.instance_path), _first_line(error))


def _leaves(errors: Any) -> Iterator[Any]:
    """Iterate over leaf errors; a failed oneOf or anyOf has those of its branches."""
    for error in errors:
        branches = getattr(error.kind, "context", None)
        if branches and any(branches):
            for branch in branches:
                yield from _leaves(branch)
        else:
            yield error


def _first_line(error: object) -> str:
    text = getattr(error, "message", None) or str(error)
    kind = getattr(error, "kind", None)
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.Enum) and 3 < len(kind.options) <= _MOST_OPTIONS:
        # The text of the library stops after two of them.
        start = text.split(" is not one of ", 1)[0]
        text = f"{start} is not one of {', '.join(json.dumps(each, ensure_ascii=False) for each in kind.options)}"
    return str(text).split("\n", 1)[0][:500]


def _refuse(uri: str) -> Json:
    raise ValueError(f"a schema cannot refer to {uri}; put all of it into one file")
