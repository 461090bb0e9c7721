"""Checks that a schema is structural, as Kubernetes defines it.

Types, defaults and everything else that gives an object its structure stand in one tree of properties, items and
additionalProperties; `allOf`, `anyOf`, `oneOf` and `not` may only narrow values. The JSON types of the schema have
been checked before.
"""

from __future__ import annotations

from typing import Literal

from homeostat.cel.regex import PatternError
from homeostat.objects.errors import Cause, forbidden, invalid, required
from homeostat.objects.json import JsonObject
from homeostat.objects.schema.pattern import schema_pattern

Level = Literal["root", "item", "field"]

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_NO_TYPE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_NOT_NESTED = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    "x-kubernetes-validations": "must be empty to be structural",
}

_UNDEFINED = ("additionalProperties", "default")


def check_structure(raw: JsonObject, path: str) -> list[Cause]:
    causes = _check_node(raw, "root", path) + _check_specified(raw, raw, path, path)
    return sorted(causes, key=lambda cause: f"{cause.field}: {cause.message}")


def _check_node(raw: JsonObject, level: Level, path: str) -> list[Cause]:
    causes: list[Cause] = []
    items, additional = raw.get("items"), raw.get("additionalProperties")
    if isinstance(items, dict):
        causes += _check_node(items, "item", f"{path}.items")
    elif raw.get("type") == "array" and items is None:
        causes.append(required(f"{path}.items", "must be specified"))
    for name, each in (raw.get("properties") or {}).items():
        causes += _check_node(each, "field", f"{path}.properties[{name}]")
    if additional is not None and level == "root":
        causes.append(forbidden(f"{path}.additionalProperties", "must not be used at the root"))
    if isinstance(additional, dict):
        causes += _check_node(additional, "field", f"{path}.additionalProperties")
    causes += _check_extensions(raw, path)
    causes += _check_values(raw, path, is_int_or_string=True)
    causes += _check_type(raw, level, path)
    if level == "root" or raw.get("x-kubernetes-embedded-resource"):
        causes += _check_meta(raw, level, path)
    return causes


def _check_extensions(raw: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    if raw.get("x-kubernetes-int-or-string"):
        message = "must be false if x-kubernetes-int-or-string is true"
        words = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
        causes += [invalid(f"{path}.{word}", True, message) for word in words if raw.get(word)]
    if raw.get("x-kubernetes-embedded-resource"):
        if raw.get("additionalProperties") is not None:
            message = "must not be used if x-kubernetes-embedded-resource is set"
            causes.append(forbidden(f"{path}.additionalProperties", message))
        if not raw.get("x-kubernetes-preserve-unknown-fields") and not raw.get("properties"):
            message = (
                "must not be empty if x-kubernetes-embedded-resource is true "
                "without x-kubernetes-preserve-unknown-fields"
            )
            causes.append(required(f"{path}.properties", message))
    return causes


def _check_type(raw: JsonObject, level: Level, path: str) -> list[Cause]:
    found, where = raw.get("type") or "", f"{path}.type"
    if raw.get("x-kubernetes-embedded-resource") and found != "object":
        message = "must be object if x-kubernetes-embedded-resource is true"
        causes = [invalid(where, found, message) if found else required(where, message)]
    elif found or raw.get("x-kubernetes-int-or-string") or raw.get("x-kubernetes-preserve-unknown-fields"):
        causes = []
    else:
        causes = [required(where, _NO_TYPE[level])]
    if level == "root" and found and found != "object":
        causes.append(invalid(where, found, "must be object at the root"))
    return causes


def _check_meta(raw: JsonObject, level: Level, path: str) -> list[Cause]:
    causes = []
    properties = raw.get("properties") or {}
    for name in ("kind", "apiVersion"):
        if name in properties and properties[name].get("type") != "string":
            where = f"{path}.properties[{name}].type"
            causes.append(invalid(where, properties[name].get("type") or "", "must be string"))
    if "metadata" not in properties:
        return causes
    metadata, where = properties["metadata"], f"{path}.properties[metadata]"
    if metadata.get("type") != "object":
        causes.append(invalid(f"{where}.type", metadata.get("type") or "", "must be object"))
    if level == "root" and not _restricts_names_only(metadata):
        message = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        causes.append(forbidden(where, message))
    return causes


def _restricts_names_only(metadata: JsonObject) -> bool:
    given = {word for word, value in metadata.items() if value not in (None, "", False, [], {})}
    return given <= {"type", "default", "properties"} and set(metadata.get("properties") or {}) <= {
        "name",
        "generateName",
    }


def _check_values(raw: JsonObject, path: str, *, is_int_or_string: bool = False) -> list[Cause]:
    """`is_int_or_string`: here the two idioms of int-or-string, which say `type` inside `anyOf`, are allowed."""
    causes: list[Cause] = []
    any_of, all_of = raw.get("anyOf") or [], raw.get("allOf") or []
    if not (is_int_or_string and any_of == _INT_OR_STRING):
        for at, each in enumerate(any_of):
            causes += _check_nested(each, f"{path}.anyOf[{at}]")
    for at, each in enumerate(all_of):
        idiom = is_int_or_string and at == 0 and each.get("anyOf") == _INT_OR_STRING
        causes += _check_nested(each, f"{path}.allOf[{at}]", is_int_or_string=idiom)
    for at, each in enumerate(raw.get("oneOf") or []):
        causes += _check_nested(each, f"{path}.oneOf[{at}]")
    if raw.get("not") is not None:
        causes += _check_nested(raw["not"], f"{path}.not")
    if pattern := raw.get("pattern"):
        try:
            schema_pattern(pattern)
        except PatternError as error:
            message = f"must be a valid regular expression, but isn't: {error}"
            causes.append(invalid(f"{path}.pattern", pattern, message))
    return causes


def _check_nested(raw: JsonObject, path: str, *, is_int_or_string: bool = False) -> list[Cause]:
    causes = _check_values(raw, path, is_int_or_string=is_int_or_string)
    if isinstance(raw.get("items"), dict):
        causes += _check_nested(raw["items"], f"{path}.items")
    properties = raw.get("properties") or {}
    for name, each in properties.items():
        causes += _check_nested(each, f"{path}.properties[{name}]")
    for word, message in _NOT_NESTED.items():
        if raw.get(word) if word not in _UNDEFINED else raw.get(word) is not None:
            causes.append(forbidden(f"{path}.{word}", message))
    if "metadata" in properties:
        causes.append(forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context"))
    return causes


def _check_specified(raw: JsonObject, node: JsonObject, node_path: str, path: str) -> list[Cause]:
    """Fields named in combinations must be part of the structure."""
    causes: list[Cause] = []
    if raw.get("not") is not None:
        causes += _check_spoken_of(raw["not"], node, node_path, f"{path}.not")
    for word in ("allOf", "anyOf", "oneOf"):
        for at, each in enumerate(raw.get(word) or []):
            causes += _check_spoken_of(each, node, node_path, f"{path}.{word}[{at}]")
    return causes


def _check_spoken_of(raw: JsonObject, node: JsonObject | None, node_path: str, path: str) -> list[Cause]:
    if node is None:
        return [required(node_path, f"because it is defined in {path}")]
    causes = _check_specified(raw, node, node_path, path)
    if isinstance(raw.get("items"), dict):
        items = node.get("items")
        inner = items if isinstance(items, dict) else None
        causes += _check_spoken_of(raw["items"], inner, f"{node_path}.items", f"{path}.items")
    for name, each in (raw.get("properties") or {}).items():
        member, below = (node.get("properties") or {}).get(name), f"properties[{name}]"
        causes += _check_spoken_of(each, member, f"{node_path}.{below}", f"{path}.{below}")
    return causes
