"""The keywords of a CustomResourceDefinition's schema: their JSON types, and which may stand where.

`check_form` runs first and checks the JSON types. `check_keywords` then checks every schema of the tree, those inside
combinations included, in the words of Kubernetes. `structural.py` checks whether the whole is structural.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from homeostat.objects.crd.field_path import FieldPathError, resolve
from homeostat.objects.errors import Cause, forbidden, invalid, required, unsupported
from homeostat.objects.json import Json, JsonObject, is_deeper
from homeostat.objects.json import types as form
from homeostat.objects.schema.openapi import TYPES, schema_of

_DEEPEST = 200
_META = ("apiVersion", "kind", "metadata")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_SIZES = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


def check_form(raw: Json, path: str) -> list[Cause]:
    """Reports values of the wrong JSON type, and nesting that is too deep."""
    if not isinstance(raw, dict):
        return form.any_object(raw, path)
    if is_deeper(raw, _DEEPEST):
        return [Cause("FieldValueInvalid", f"Invalid value: the schema is nested more than {_DEEPEST} levels", path)]
    return _schema(raw, path)


def _schema(value: Json, path: str) -> list[Cause]:
    return _SCHEMA(value, path)


def _schema_or_flag(value: Json, path: str) -> list[Cause]:
    return [] if isinstance(value, bool) else _schema(value, path)


def _schema_or_list(value: Json, path: str) -> list[Cause]:
    return [] if isinstance(value, list) else _schema(value, path)


_RULE = form.object_of(
    {
        "rule": form.text,
        "message": form.text,
        "messageExpression": form.text,
        "reason": form.text,
        "fieldPath": form.text,
        "optionalOldSelf": form.flag,
    }
)
_SCHEMA = form.object_of(
    {
        **dict.fromkeys(("id", "$schema", "$ref", "description", "type", "format", "title", "pattern"), form.text),
        **dict.fromkeys(("x-kubernetes-list-type", "x-kubernetes-map-type"), form.text),
        **dict.fromkeys(("maximum", "minimum", "multipleOf"), form.number),
        **dict.fromkeys(_SIZES, form.whole),
        **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "nullable"), form.flag),
        **dict.fromkeys(
            (
                "x-kubernetes-embedded-resource",
                "x-kubernetes-int-or-string",
                "x-kubernetes-preserve-unknown-fields",
            ),
            form.flag,
        ),
        **dict.fromkeys(("required", "x-kubernetes-list-map-keys"), form.list_of(form.text)),
        **dict.fromkeys(("allOf", "anyOf", "oneOf"), form.list_of(_schema)),
        "enum": form.any_list,
        "externalDocs": form.any_object,
        "not": _schema,
        "items": _schema_or_list,
        "additionalProperties": _schema_or_flag,
        "properties": form.map_of(_schema),
        "x-kubernetes-validations": form.list_of(_RULE),
    }
)


class _Place(msgspec.Struct, frozen=True):
    """What a part of the tree inherits from the nodes above it."""

    no_defaults: str = ""
    is_inside_meta: bool = False


def check_keywords(raw: JsonObject, path: str) -> list[Cause]:
    causes = _check(raw, path, _Place(), is_root=True)
    # Kubernetes leaves out where.
    return [*causes, invalid(path, "", "OpenAPIV3Schema 'schema' is not supported")] if _names_dialect(raw) else causes


def _names_dialect(raw: Json) -> bool:
    """Whether the schema, or one below it, has `$schema`."""
    if isinstance(raw, list):
        return any(_names_dialect(each) for each in raw)
    if not isinstance(raw, dict):
        return False
    below = [raw.get(word) for word in ("allOf", "anyOf", "oneOf", "not", "items", "additionalProperties")]
    return bool(raw.get("$schema")) or _names_dialect([*below, *(raw.get("properties") or {}).values()])


def _check(raw: JsonObject, path: str, place: _Place, *, is_root: bool = False) -> list[Cause]:
    causes = _check_supported(raw, path, place)
    additional, properties = raw.get("additionalProperties"), raw.get("properties") or {}
    if additional is not None and additional is not True and properties:
        message = "additionalProperties and properties are mutual exclusive"
        causes.append(forbidden(f"{path}.additionalProperties", message))
    if isinstance(additional, dict):
        why = "inside additionalProperties applying to object metadata"
        inner = replace(place, no_defaults=why) if place.is_inside_meta else place
        causes += _check(additional, f"{path}.additionalProperties", inner)
    for name, each in properties.items():
        inner = place
        if name in _META and (is_root or raw.get("x-kubernetes-embedded-resource")):
            why = f"in top-level {name}" if is_root else place.no_defaults
            inner = replace(place, is_inside_meta=True, no_defaults=why)
        causes += _check(each, f"{path}.properties[{name}]", inner)
    for word in ("allOf", "anyOf", "oneOf"):
        for at, each in enumerate(raw.get(word) or []):
            causes += _check(each, f"{path}.{word}[{at}]", place)
    if raw.get("not") is not None:
        causes += _check(raw["not"], f"{path}.not", place)
    if isinstance(raw.get("items"), dict):
        causes += _check(raw["items"], f"{path}.items", place)
    causes += _check_map_type(raw, path) + _check_list_type(raw, path)
    for at, each in enumerate(raw.get("x-kubernetes-validations") or []):
        causes += _check_rule(each, raw, f"{path}.x-kubernetes-validations[{at}]")
    return causes


def _check_supported(raw: JsonObject, path: str, place: _Place) -> list[Cause]:
    causes = []
    found = raw.get("type")
    if found and found not in TYPES:
        causes.append(unsupported(f"{path}.type", found, TYPES))
    if found == "null":
        message = "type cannot be set to null, use nullable as an alternative"
        causes.append(forbidden(f"{path}.type", message))
    if raw.get("default") is not None and place.no_defaults:
        causes.append(forbidden(f"{path}.default", f"must not be set {place.no_defaults}"))
    causes += [forbidden(f"{path}.{word}", f"{word} is not supported") for word in _UNSUPPORTED if raw.get(word)]
    if isinstance(raw.get("items"), list):
        causes.append(forbidden(f"{path}.items", "items must be a schema object and not an array"))
    if place.is_inside_meta and raw.get("x-kubernetes-embedded-resource"):
        message = "must not be used inside of resource meta"
        causes.append(forbidden(f"{path}.x-kubernetes-embedded-resource", message))
    if raw.get("uniqueItems"):
        message = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        causes.append(forbidden(f"{path}.uniqueItems", message))
    if raw.get("x-kubernetes-preserve-unknown-fields") is False:
        message = "must be true or undefined"
        causes.append(invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, message))
    return causes


def _check_map_type(raw: JsonObject, path: str) -> list[Cause]:
    wanted, found = raw.get("x-kubernetes-map-type"), raw.get("type")
    if wanted is None:
        return []
    message = "must be object if x-kubernetes-map-type is specified"
    causes = []
    if found != "object":
        causes.append(invalid(f"{path}.type", found, message) if found else required(f"{path}.type", message))
    if wanted not in ("atomic", "granular"):
        causes.append(unsupported(f"{path}.x-kubernetes-map-type", wanted, ("atomic", "granular")))
    return causes


def _check_list_type(raw: JsonObject, path: str) -> list[Cause]:
    wanted, found, keys = raw.get("x-kubernetes-list-type"), raw.get("type"), raw.get("x-kubernetes-list-map-keys")
    message = "must be map if x-kubernetes-list-map-keys is non-empty"
    where = f"{path}.x-kubernetes-list-type"
    if wanted is None:
        return [required(where, message)] if keys else []
    causes = []
    if keys and wanted != "map":
        causes.append(invalid(where, wanted, message))
    if found != "array":
        message = "must be array if x-kubernetes-list-type is specified"
        causes.append(invalid(f"{path}.type", found, message) if found else required(f"{path}.type", message))
    match wanted:
        case "set":
            causes += _check_set(raw, path)
        case "map":
            causes += _check_map(raw, path)
        case "atomic":
            pass
        case _:
            causes.append(unsupported(where, wanted, ("atomic", "set", "map")))
    return causes


def _check_set(raw: JsonObject, path: str) -> list[Cause]:
    items = raw.get("items")
    if not isinstance(items, dict):
        return []
    message = "must be atomic as item of a list with x-kubernetes-list-type=set"
    word = {"array": "x-kubernetes-list-type", "object": "x-kubernetes-map-type"}.get(items.get("type") or "")
    causes = []
    # Lists are atomic by default, objects are not.
    if word and items.get(word, "atomic" if items["type"] == "array" else None) != "atomic":
        causes.append(invalid(f"{path}.items.{word}", items.get(word), message))
    if items.get("nullable"):
        message = "cannot be nullable when x-kubernetes-list-type is set"
        causes.append(forbidden(f"{path}.items.nullable", message))
    return causes


def _check_map(raw: JsonObject, path: str) -> list[Cause]:
    keys, items = raw.get("x-kubernetes-list-map-keys") or [], raw.get("items")
    where = f"{path}.x-kubernetes-list-map-keys"
    causes = []
    if not keys:
        causes.append(required(where, "must not be empty if x-kubernetes-list-type is map"))
    if not isinstance(items, dict):
        message = "must have a schema if x-kubernetes-list-type is map"
        return [*causes, required(f"{path}.items", message)] if items is None else causes
    if items.get("type") != "object":
        message = "must be object if parent array's x-kubernetes-list-type is map"
        return [*causes, invalid(f"{path}.items.type", items.get("type") or "", message)]
    if items.get("nullable"):
        message = "cannot be nullable when x-kubernetes-list-type is map"
        causes.append(forbidden(f"{path}.items.nullable", message))
    if len(set(keys)) != len(keys):
        causes.append(invalid(where, keys, "must not contain duplicate entries"))
    for key in dict.fromkeys(keys):
        member = (items.get("properties") or {}).get(key)
        if member is None:
            causes.append(invalid(where, keys, "entries must all be names of item properties"))
        else:
            is_required = key in (items.get("required") or ())
            causes += _check_map_key(member, f"{path}.items.properties[{key}]", is_required=is_required)
    return causes


def _check_map_key(member: JsonObject, path: str, *, is_required: bool) -> list[Cause]:
    causes = []
    if member.get("type") in ("array", "object"):
        message = "must be a scalar type if parent array's x-kubernetes-list-type is map"
        causes.append(invalid(f"{path}.type", member["type"], message))
    if not is_required and member.get("default") is None:
        message = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
        causes.append(required(f"{path}.default", message))
    if member.get("nullable"):
        message = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
        causes.append(forbidden(f"{path}.nullable", message))
    return causes


def _check_rule(rule: JsonObject, raw: JsonObject, path: str) -> list[Cause]:
    """Checks the texts of a rule; it is compiled only if everything else is valid."""
    source, message = rule.get("rule") or "", rule.get("message") or ""
    causes = []
    if not source.strip():
        causes.append(required(f"{path}.rule", "rule is not specified"))
    elif message and not message.strip():
        causes.append(invalid(f"{path}.message", message, "message must be non-empty if specified"))
    elif _has_line_breaks(message.strip()):
        causes.append(invalid(f"{path}.message", message, "message must not contain line breaks"))
    elif _has_line_breaks(source.strip()) and not message.strip():
        message = "message must be specified if rule contains line breaks"
        causes.append(required(f"{path}.message", message))
    expression = rule.get("messageExpression") or ""
    if expression and not expression.strip():
        causes.append(required(f"{path}.messageExpression", "messageExpression must be non-empty if specified"))
    if rule.get("reason") is not None and rule["reason"] not in _REASONS:
        causes.append(unsupported(f"{path}.reason", rule["reason"], _REASONS))
    return causes + _check_field_path(rule.get("fieldPath") or "", raw, f"{path}.fieldPath")


def _check_field_path(field_path: str, raw: JsonObject, path: str) -> list[Cause]:
    if not field_path:
        return []
    if not field_path.strip():
        return [invalid(path, field_path, "fieldPath must be non-empty if specified")]
    if _has_line_breaks(field_path):
        return [invalid(path, field_path, "fieldPath must not contain line breaks")]
    try:
        resolve(field_path, schema_of(raw))
    except FieldPathError:
        return [invalid(path, field_path, "fieldPath must be a valid path")]
    return []


def _has_line_breaks(text: str) -> bool:
    return "\n" in text or "\r" in text
