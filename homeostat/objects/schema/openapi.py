"""The `openAPIV3Schema` of a CustomResourceDefinition as `Schema` nodes.

`schema_of` reads what it knows and skips the rest. `keywords.py` (each keyword by itself) and `structural.py`
(structural schemas) validate a schema before it is served.
"""

from __future__ import annotations

from typing import Any

from homeostat.objects.json import Json, JsonObject
from homeostat.objects.schema.schema import Rule, Schema

TYPES = ("array", "boolean", "integer", "number", "object", "string")
CONSTRAINTS = (
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
)


def schema_of(raw: JsonObject) -> Schema:
    kind = raw.get("type")
    schema = Schema(
        type=kind if kind in TYPES else "",
        format=_text(raw, "format"),
        nullable=raw.get("nullable") is True,
        required=_texts(raw, "required"),
        list_type=_text(raw, "x-kubernetes-list-type"),  # type: ignore[arg-type]
        map_keys=_texts(raw, "x-kubernetes-list-map-keys"),
        map_type=_text(raw, "x-kubernetes-map-type"),  # type: ignore[arg-type]
        int_or_string=raw.get("x-kubernetes-int-or-string") is True,
        preserve_unknown=raw.get("x-kubernetes-preserve-unknown-fields") is True,
        embedded=raw.get("x-kubernetes-embedded-resource") is True,
        constraints={word: raw[word] for word in CONSTRAINTS if raw.get(word) is not None},
        rules=_rules(raw.get("x-kubernetes-validations")),
    )
    # A default of null counts as none: Kubernetes cannot tell the two apart.
    if raw.get("default") is not None:
        schema.default = raw["default"]
    _add_members(schema, raw)
    return schema


def _add_members(schema: Schema, raw: JsonObject) -> None:
    properties = raw.get("properties")
    if isinstance(properties, dict):
        schema.properties = {name: schema_of(each) for name, each in properties.items() if isinstance(each, dict)}
    match raw.get("additionalProperties"):
        case dict() as additional:
            schema.additional = schema_of(additional)
        case True if not schema.properties:
            schema.additional = Schema(nullable=True)
    if isinstance(raw.get("items"), dict):
        schema.items = schema_of(raw["items"])


def _text(raw: JsonObject, key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def _texts(raw: JsonObject, key: str) -> tuple[str, ...]:
    value = raw.get(key)
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _rules(raw: Json) -> tuple[Rule, ...]:
    if not isinstance(raw, list):
        return ()
    return tuple(_rule(each) for each in raw if isinstance(each, dict))


def _rule(raw: dict[str, Any]) -> Rule:
    optional = raw.get("optionalOldSelf")
    return Rule(
        rule=_text(raw, "rule"),
        message=_text(raw, "message"),
        message_expression=_text(raw, "messageExpression"),
        reason=_text(raw, "reason"),
        field_path=_text(raw, "fieldPath"),
        optional_old_self=optional if isinstance(optional, bool) else None,
    )
