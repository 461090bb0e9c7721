"""Values with `format: password` are found at every depth, hidden, and restored when they come back hidden."""

from __future__ import annotations

from typing import Any

from homeostat.objects.schema.passwords import HIDDEN
from homeostat.operators.actions.types.passwords import password_fields

SCHEMA: dict[str, Any] = {
    "type": "object",
    "definitions": {"secret": {"type": "string", "format": "password"}},
    "properties": {
        "name": {"type": "string"},
        "password": {"$ref": "#/definitions/secret"},
        "users": {
            "type": "array",
            "items": {"type": "object", "properties": {"login": {"type": "string"}, "pin": {"format": "password"}}},
        },
        "extra": {"type": "object", "additionalProperties": {"type": "string", "format": "password"}},
    },
}
SPEC: dict[str, Any] = {
    "name": "a",
    "password": "one",
    "users": [{"login": "x", "pin": "1234"}, {"login": "y"}],
    "extra": {"k": "two", "empty": ""},
    "unknown": {"password": "stays"},
}


def test_passwords_are_found_and_hidden_at_every_depth() -> None:
    fields = password_fields(SCHEMA)
    assert dict(fields.values(SPEC)) == {"spec.password": "one", "spec.users[0].pin": "1234", "spec.extra.k": "two"}
    assert fields.hidden(SPEC) == {
        "name": "a",
        "password": HIDDEN,
        "users": [{"login": "x", "pin": HIDDEN}, {"login": "y"}],
        "extra": {"k": HIDDEN, "empty": ""},
        "unknown": {"password": "stays"},
    }


def test_what_comes_back_hidden_is_the_stored_value() -> None:
    fields = password_fields(SCHEMA)
    shown: Any = fields.hidden(SPEC)
    assert fields.restored(shown, SPEC) == SPEC
    changed = {**shown, "name": "b", "password": "new"}
    assert fields.restored(changed, SPEC) == {**SPEC, "name": "b", "password": "new"}
    assert fields.restored({"password": HIDDEN}, {}) == {"password": HIDDEN}


def test_a_schema_without_passwords_costs_nothing() -> None:
    assert not password_fields({"type": "object", "properties": {"a": {"type": "string"}}})
    assert not password_fields({"type": "nope"})
