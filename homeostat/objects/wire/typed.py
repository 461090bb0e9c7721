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


def conform_types(obj: JsonObject, schema: Schema) -> list[Cause]:
    """Drops nulls in place and returns causes for the values that are not of their field's type, as many as an error
    lists.
    """
    causes: list[Cause] = []
    _struct(obj, schema, "", causes)
    return causes


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
                causes.append(_wrong(path, value, "object"))
        case "array":
            _list(value, schema, path, causes)
        case "string":
            _string(value, schema, path, causes)
        case "integer":
            limit = _RANGES.get(schema.format, 1 << 63)
            if type(value) is not int or not -limit <= value < limit:
                causes.append(_wrong(path, value, schema.format or "integer"))
        case "boolean":
            if not isinstance(value, bool):
                causes.append(_wrong(path, value, "boolean"))
        case "number":
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                causes.append(_wrong(path, value, "number"))
        case _:
            _special(value, schema, path, causes)


def _list(value: Json, schema: Schema, path: str, causes: list[Cause]) -> None:
    if not isinstance(value, list):
        causes.append(_wrong(path, value, "array"))
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
        causes.append(_wrong(path, value, "string"))
    elif schema.format == "byte":
        try:
            b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
        except (binascii.Error, ValueError):
            causes.append(Cause("FieldValueInvalid", "is not base64", path))
    elif schema.format == "date-time" and not _TIME.fullmatch(value):
        causes.append(_wrong(path, value, "RFC 3339 time"))


def _special(value: Json, schema: Schema, path: str, causes: list[Cause]) -> None:
    if schema.int_or_string:
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            causes.append(_wrong(path, value, "integer or string"))
    elif schema.name == _QUANTITY_NAME and not (
        (isinstance(value, str) and _QUANTITY.fullmatch(value))
        or (isinstance(value, (int, float)) and not isinstance(value, bool))
    ):
        causes.append(
            Cause("FieldValueInvalid", "quantities must match the regular expression " + _QUANTITY.pattern, path)
        )


def _wrong(path: str, value: Json, wanted: str) -> Cause:
    return Cause("FieldValueTypeInvalid", f"expected {wanted}, got {type_name(value)}", path)
