"""Type checks of built-in kinds: values of the wrong type are rejected and nulls mean absent, as in Go structs. Pure.

Custom kinds are validated against their schema instead (`schema/validate.py`).
"""

from __future__ import annotations

import binascii
from base64 import b64decode

from homeostat.objects.errors import Cause, are_enough
from homeostat.objects.json import MAX_CONTAINERS, Json, JsonObject, type_name
from homeostat.objects.lazy_pattern import lazy_pattern
from homeostat.objects.schema.schema import Schema

_QUANTITY = lazy_pattern(r"[+-]?(\d+(\.\d*)?|\.\d+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?")
_TIME = lazy_pattern(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_RANGES = {"int32": 1 << 31, "int64": 1 << 63}
_QUANTITY_NAME = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_GO_KINDS = {"boolean": "bool", "integer": "int64", "number": "float64", "array": "slice", "object": "map"}
"""By the name of JSON, where Go has another."""


class WrongType(Cause, frozen=True):
    """`restored` is what Kubernetes says of the value in the result of a strategic merge patch; empty if the type
    decodes itself there, as times do.
    """

    restored: str = ""


def conform_types(obj: JsonObject, schema: Schema) -> list[Cause]:
    """Drops nulls in place and returns causes for the values that are not of their field's type, as many as an error
    lists.
    """
    causes: list[Cause] = []
    _struct(obj, schema, "", causes)
    return causes


def restored_error(obj: JsonObject, schema: Schema) -> str:
    """What Kubernetes says of a strategic merge patch that sets a field to a value of another type, with the field in
    front, which Kubernetes does not name. Empty if there is no such field. It drops nulls in place.
    """
    found = (each for each in conform_types(obj, schema) if isinstance(each, WrongType) and each.restored)
    first = next(found, None)
    return "" if first is None else f"{first.field}: {first.restored}"


def _struct(value: JsonObject, schema: Schema, path: str, causes: list[Cause]) -> None:
    properties, additional = schema.properties, schema.additional
    nulls = None
    for name, member in value.items():
        child = properties.get(name) or additional
        if child is None:
            continue
        if member is None:
            if nulls is None:
                nulls = []
            nulls.append(name)
        elif type(member) is not str or child.type != "string" or child.format:
            _value(member, child, f"{path}.{name}" if path else name, causes)
            if causes and are_enough(causes):
                return
    if nulls:
        for name in nulls:
            if additional is not None and additional.type == "string":
                value[name] = ""
            else:
                del value[name]


def _value(value: Json, schema: Schema, path: str, causes: list[Cause]) -> None:
    match schema.type:
        case "object":
            if isinstance(value, dict):
                _struct(value, schema, path, causes)
            else:
                causes.append(_wrong(path, value, schema, "object"))
        case "array":
            _list(value, schema, path, causes)
        case "string":
            _string(value, schema, path, causes)
        case "integer":
            limit = _RANGES.get(schema.format, 1 << 63)
            if type(value) is not int or not -limit <= value < limit:
                causes.append(_wrong(path, value, schema, schema.format or "integer"))
        case "boolean":
            if not isinstance(value, bool):
                causes.append(_wrong(path, value, schema, "boolean"))
        case "number":
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                causes.append(_wrong(path, value, schema, "number"))
        case _:
            _special(value, schema, path, causes)


def _list(value: Json, schema: Schema, path: str, causes: list[Cause]) -> None:
    if not isinstance(value, list):
        causes.append(_wrong(path, value, schema, "array"))
        return
    items = schema.items
    if items is None:
        return
    if len(value) > MAX_CONTAINERS and items.type in ("object", "array") and value.count(None) > MAX_CONTAINERS:
        causes.append(Cause("FieldValueTooMany", f"has more than {MAX_CONTAINERS} nulls", path))
        return
    for index, item in enumerate(value):
        if item is None:
            if items.type:
                value[index] = {"object": {}, "string": "", "array": []}.get(items.type)
        elif type(item) is not str or items.type != "string" or items.format:
            _value(item, items, f"{path}[{index}]", causes)
            if causes and are_enough(causes):
                return


def _string(value: Json, schema: Schema, path: str, causes: list[Cause]) -> None:
    if not isinstance(value, str):
        causes.append(_wrong(path, value, schema, "string"))
    elif schema.format == "byte":
        try:
            b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
        except (binascii.Error, ValueError):
            causes.append(Cause("FieldValueInvalid", "is not base64", path))
    elif schema.format == "date-time" and not _TIME.fullmatch(value):
        causes.append(_wrong(path, value, schema, "RFC 3339 time"))


def _special(value: Json, schema: Schema, path: str, causes: list[Cause]) -> None:
    if schema.int_or_string:
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            causes.append(_wrong(path, value, schema, "integer or string"))
    elif schema.name == _QUANTITY_NAME and not (
        (isinstance(value, str) and _QUANTITY.fullmatch(value))
        or (isinstance(value, (int, float)) and not isinstance(value, bool))
    ):
        causes.append(
            Cause("FieldValueInvalid", "quantities must match the regular expression " + _QUANTITY.pattern, path)
        )


def _wrong(path: str, value: Json, schema: Schema, wanted: str) -> Cause:
    message = f"expected {wanted}, got {type_name(value)}"
    return WrongType("FieldValueTypeInvalid", message, path, _restored(value, schema))


def _restored(value: Json, schema: Schema) -> str:
    """A number converts to a string type in Go, and a fraction to an integer type, which is refused in other words. The
    name of a string type, such as `v1.PullPolicy`, is in no schema.
    """
    kind = _GO_KINDS.get(type_name(value), type_name(value))
    match schema.type, schema.format:
        case "object", _:
            return f"cannot restore map from {kind}" if schema.additional else f"cannot restore struct from: {kind}"
        case ("array", _) | ("string", "byte"):
            return f"cannot restore slice from {kind}"
        case "string", "":
            return "cannot convert int64 to string" if kind == "int64" else "unrecognized type: string"
        case "integer", size if kind != "int64":
            size = size or "int64"
            return f"cannot convert float64 to {size}" if kind == "float64" else f"unrecognized type: {size}"
        case "boolean", _:
            return "unrecognized type: bool"
        case "number", _:
            return "unrecognized type: float64"
    return ""
