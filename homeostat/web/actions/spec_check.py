"""Validates a spec against the schema of its type, as the server does, and applies defaults. Pure.

All errors are reported, by path: `tags[1]: ...; (root): ...`. Only the server evaluates CEL rules. A large spec, a
large schema or one of many alternatives takes seconds, so callers validate in a thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from functools import lru_cache

from homeostat.objects.errors import Cause
from homeostat.objects.json import JsonObject
from homeostat.objects.schema.default import apply_defaults
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.passwords import PasswordFields
from homeostat.objects.schema.prune import prune
from homeostat.objects.schema.schema import Schema
from homeostat.operators.actions.api import ResourceType
from homeostat.operators.actions.types.definition import definition_of
from homeostat.operators.actions.types.passwords import password_fields

FAILED = "Spec validation failed"


class SpecChecker:
    def __init__(self, root: Schema) -> None:
        # Imported here: a page that shows resources does not validate one.
        from homeostat.objects.schema.validate import Validator

        self._root, self._validator = root, Validator(root)

    def settle(self, spec: JsonObject) -> tuple[JsonObject, str]:
        """Returns the spec with its defaults, and its errors; empty if it is valid.

        A server drops unknown fields and nulls silently. Here both are errors, as in JSON Schema.
        """
        body = {"spec": deepcopy(spec)}
        nulls = list(_nulls(body, self._root, ""))
        unknown = prune(body, self._root)
        apply_defaults(body, self._root)
        return body["spec"], described([*_unexpected(unknown), *nulls, *self._validator.check(body)])


def checker_of(resource_type: ResourceType) -> SpecChecker:
    """Raises `InvalidTypeError` if the type cannot become a definition."""
    metadata = resource_type.metadata
    return _checkers(_Form(metadata.uid, metadata.generation, resource_type))


def passwords_of(resource_type: ResourceType) -> PasswordFields:
    """The fields of the spec that are never shown; none for a type that is invalid."""
    metadata = resource_type.metadata
    return _passwords(_Form(metadata.uid, metadata.generation, resource_type))


def described(causes: Iterable[Cause]) -> str:
    return "; ".join(f"{_path(each.field)}: {each.message}" for each in causes)


def _unexpected(paths: Iterable[str]) -> Iterator[Cause]:
    for path in paths:
        parent, _, name = path.rpartition(".")
        yield Cause("FieldValueInvalid", f"Additional properties are not allowed ('{name}' was unexpected)", parent)


def _nulls(value: JsonObject, schema: Schema, path: str) -> Iterator[Cause]:
    """Members that are null although their type does not allow it."""
    for name, member in value.items():
        node, where = schema.properties.get(name, schema.additional), f"{path}.{name}" if path else name
        if node is None:
            continue
        if member is None and node.type and not node.nullable:
            yield Cause("FieldValueInvalid", f"null is not of type '{node.type}'", where)
        elif isinstance(member, dict):
            yield from _nulls(member, node, where)
        elif isinstance(member, list) and node.items is not None:
            for at, each in enumerate(member):
                if isinstance(each, dict):
                    yield from _nulls(each, node.items, f"{where}[{at}]")


class _Form:
    """A type at one generation, as a key of the cache."""

    __slots__ = ("_key", "resource_type")

    def __init__(self, uid: str, generation: int, resource_type: ResourceType) -> None:
        self._key, self.resource_type = (uid, generation), resource_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Form) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(256)
def _checkers(form: _Form) -> SpecChecker:
    (version,) = definition_of([form.resource_type.spec])["spec"]["versions"]
    root = schema_of(version["schema"]["openAPIV3Schema"])
    root.properties = {name: node for name, node in root.properties.items() if name == "spec"}
    return SpecChecker(root)


@lru_cache(256)
def _passwords(form: _Form) -> PasswordFields:
    return password_fields(form.resource_type.spec.schema)


def _path(field: str) -> str:
    if field in ("", "spec"):
        return "(root)"
    return field.removeprefix("spec.")
