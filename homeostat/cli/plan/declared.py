"""Computes the object that applying a file would store, and its differences from the existing one. Pure.

It does what a server does: server-side apply with the field manager of `homeostat resource apply`, defaults,
validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Final

import msgspec

from homeostat.cli.objects.apply import MANAGER
from homeostat.cli.resource.credentials import shown_value
from homeostat.objects.apply.apply import apply
from homeostat.objects.errors import BadRequestError, InvalidError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.schema.default import apply_defaults
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.passwords import NO_PASSWORDS, PasswordFields
from homeostat.objects.schema.prune import unknown_fields
from homeostat.objects.schema.schema import Schema
from homeostat.objects.schema.validate import Validator
from homeostat.operators.actions.api import ResourceTypeSpec
from homeostat.operators.actions.types.definition import definition_of

_DECLARED: Final = ("spec", "action")


class FieldChange(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`before` or `after` is unset if the field does not exist before or after the change."""

    field: str
    before: Json | msgspec.UnsetType = msgspec.UNSET
    after: Json | msgspec.UnsetType = msgspec.UNSET
    is_default: bool = False
    """The value comes from the schema, not from the file."""


def schema_of_type(spec: ResourceTypeSpec) -> Schema:
    """Raises `InvalidTypeError` if the type cannot become a kind."""
    (version,) = definition_of([spec])["spec"]["versions"]
    return schema_of(version["schema"]["openAPIV3Schema"])


def as_stored(
    live: JsonObject | None, manifest: JsonObject, schema: Schema, *, now: str, force: bool = False
) -> JsonObject:
    """Raises `ApiError` if the server would refuse it: unknown fields, fields of other managers, invalid values."""
    if unknown := unknown_fields(manifest, schema):
        raise BadRequestError("strict decoding error: " + ", ".join(f'unknown field "{each}"' for each in unknown))
    config = {word: value for word, value in manifest.items() if word != "status"}
    stored = deepcopy(
        apply(live, config, schema, manager=MANAGER, api_version=manifest["apiVersion"], now=now, force=force)
    )
    apply_defaults(stored, schema)
    causes = Validator(schema).check({word: stored[word] for word in _DECLARED if word in stored})
    if causes:
        raise InvalidError("; ".join(f"{each.field}: {each.message}" for each in causes), causes=causes)
    return stored


def changes_between(
    before: JsonObject | None, after: JsonObject, manifest: JsonObject, passwords: PasswordFields = NO_PASSWORDS
) -> list[FieldChange]:
    """Compares the declared parts: the spec and the action. Passwords of the spec and credentials of the action are not
    shown.
    """
    old = {word: (before or {}).get(word) or {} for word in _DECLARED}
    new = {word: after.get(word) or {} for word in _DECLARED}
    return list(_changes(old, new, manifest, "", PasswordFields(properties={"spec": passwords})))


def _changes(
    before: JsonObject, after: JsonObject, given: Json, path: str, passwords: PasswordFields
) -> Iterator[FieldChange]:
    """Compares objects member by member, in order of names, and lists as a whole."""
    members = given if isinstance(given, dict) else {}
    for name in sorted(before.keys() | after.keys()):
        where = f"{path}.{name}" if path else name
        old, new = before.get(name, msgspec.UNSET), after.get(name, msgspec.UNSET)
        hiding = passwords.below(name) or NO_PASSWORDS
        is_default = name not in members and new is not msgspec.UNSET and old is msgspec.UNSET
        if isinstance(new, dict) and (isinstance(old, dict) or (old is msgspec.UNSET and new)):
            yield from _changes(old if isinstance(old, dict) else {}, new, members.get(name), where, hiding)
        elif old != new:
            yield FieldChange(where, _shown(where, old, hiding), _shown(where, new, hiding), is_default)


def _shown(path: str, value: Json | msgspec.UnsetType, passwords: PasswordFields) -> Json | msgspec.UnsetType:
    if value is msgspec.UNSET:
        return value
    is_of_action = path.startswith("action.")
    return shown_value(path.rpartition(".")[2], value) if is_of_action else passwords.hidden(value)
