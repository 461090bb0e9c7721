"""Finds and hides the values that a schema marks with `format: password`. Pure.

Whoever reads an object sees `(hidden)` in their place. A client that reads an object, changes a field and writes it
back sends `(hidden)`, which stands for the stored value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from homeostat.objects.json import Json, JsonObject
from homeostat.objects.meta import LAST_APPLIED

HIDDEN: Final = "(hidden)"
_FORMAT: Final = "password"


class PasswordFields(msgspec.Struct, frozen=True):
    """The branches of a schema that contain passwords; the node itself may be one."""

    is_password: bool = False
    properties: dict[str, PasswordFields] = {}
    additional: PasswordFields | None = None
    items: PasswordFields | None = None

    def __bool__(self) -> bool:
        return self.is_password or bool(self.properties) or self.additional is not None or self.items is not None

    def hidden(self, value: Json) -> Json:
        """A copy in which passwords are replaced; parts without passwords are shared."""
        if self.is_password:
            return value if value is None or value == "" else HIDDEN
        if isinstance(value, dict):
            members = ((name, each, self.below(name)) for name, each in value.items())
            return {name: each if node is None else node.hidden(each) for name, each, node in members}
        if isinstance(value, list) and self.items is not None:
            return [self.items.hidden(each) for each in value]
        return value

    def restored(self, new: Json, old: Json) -> Json:
        """`new` with the passwords of `old` where `new` has the placeholder."""
        if self.is_password:
            return old if new == HIDDEN and old is not None else new
        if isinstance(new, dict):
            known: JsonObject = old if isinstance(old, dict) else {}
            members = ((name, each, self.below(name)) for name, each in new.items())
            return {
                name: each if node is None else node.restored(each, known.get(name)) for name, each, node in members
            }
        if isinstance(new, list) and self.items is not None:
            earlier = old if isinstance(old, list) else []
            return [
                self.items.restored(each, earlier[at] if at < len(earlier) else None) for at, each in enumerate(new)
            ]
        return new

    def values(self, value: Json, path: str = "spec") -> Iterator[tuple[str, str]]:
        """The passwords, each with its path; values that are not texts are none."""
        if self.is_password:
            if isinstance(value, str) and value:
                yield path, value
        elif isinstance(value, dict):
            for name, each in value.items():
                if (node := self.below(name)) is not None:
                    yield from node.values(each, f"{path}.{name}")
        elif isinstance(value, list) and self.items is not None:
            for at, each in enumerate(value):
                yield from self.items.values(each, f"{path}[{at}]")

    def below(self, name: str) -> PasswordFields | None:
        return self.properties.get(name, self.additional)


NO_PASSWORDS: Final = PasswordFields()


def without_passwords(obj: JsonObject, passwords: PasswordFields) -> JsonObject:
    """The object without the marked values, and without what repeats them elsewhere in it."""
    return without_copies(passwords.hidden(obj)) if passwords else obj


def without_copies(obj: JsonObject) -> JsonObject:
    """The object without the parts that repeat its spec."""
    shown = dict(obj)
    annotations = shown["metadata"].get("annotations") or {}
    if LAST_APPLIED in annotations:
        shown["metadata"] = {**shown["metadata"], "annotations": {**annotations, LAST_APPLIED: HIDDEN}}
    status = shown.get("status")
    run = status.get("run") if isinstance(status, dict) else None
    if isinstance(status, dict) and isinstance(run, dict) and "declaration" in run:
        # The run of another system keeps the whole spec of a resource, as JSON.
        shown["status"] = {**status, "run": {**run, "declaration": HIDDEN}}
    return shown


def marked_fields(schema: Json) -> PasswordFields:
    """The fields that an OpenAPI schema marks; it contains no references."""
    return _fields(schema) or NO_PASSWORDS


def definition_passwords(definition: JsonObject, version: str) -> PasswordFields:
    """The fields that a CustomResourceDefinition marks in a version, from the root of the object on."""
    versions = (definition.get("spec") or {}).get("versions") or ()
    found: JsonObject = next((each for each in versions if each.get("name") == version), {})
    return marked_fields((found.get("schema") or {}).get("openAPIV3Schema"))


def _fields(node: Json) -> PasswordFields | None:
    if not isinstance(node, dict):
        return None
    properties = node.get("properties")
    members = properties if isinstance(properties, dict) else {}
    found = PasswordFields(
        is_password=node.get("format") == _FORMAT,
        properties={name: each for name, raw in members.items() if (each := _fields(raw)) is not None},
        additional=_fields(node.get("additionalProperties")),
        items=_fields(node.get("items")),
    )
    return found or None
