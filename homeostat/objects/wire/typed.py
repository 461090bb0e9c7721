"""The values of built-in kinds as Go structs hold them. Pure.

Those of the wrong type are rejected. Nulls mean absent, and so do zeros of members that Go leaves out when they are
zero: `args: []`, `hostNetwork: false`. Quantities and times become canonical, as clients in typed languages expect:
`cpu: 1` is "1" and 1024Mi is 1Gi.

Custom kinds are validated against their schema instead (`schema/validate.py`).
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from datetime import UTC, datetime

from homeostat.objects.errors import Cause, are_enough
from homeostat.objects.json import MAX_CONTAINERS, Json, JsonObject, decode, encode, type_name
from homeostat.objects.lazy_pattern import lazy_pattern
from homeostat.objects.memory.cache import cached
from homeostat.objects.quantity import Quantity, QuantityError
from homeostat.objects.schema.schema import Schema

_TIME = lazy_pattern(r"(\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_MICROSECONDS = 1 + 6
"""Characters of a fraction, with its point: Go reads no other number of them."""
_RANGES = {"int32": 1 << 31, "int64": 1 << 63}
_MICRO_TIME_NAME = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"
_QUANTITY_NAME = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_ZEROS = {"string": "", _QUANTITY_NAME: "0"}
"""What a null is in a map, by the type of its values or their name; other nulls are absent."""
_GO_KINDS = {"boolean": "bool", "integer": "int64", "number": "float64", "array": "slice", "object": "map"}
"""By the name of JSON, where Go has another."""


class WrongType(Cause, frozen=True):
    """`restored` is what Kubernetes says of the value in the result of a strategic merge patch; empty if the type
    decodes itself there, as times do.
    """

    restored: str = ""


def conform_types(obj: JsonObject, schema: Schema) -> list[Cause]:
    """Makes the object in place what Go would read, and returns causes for the values that are not of their field's
    type, as many as an error lists.
    """
    causes: list[Cause] = []
    _struct(obj, schema, "", causes)
    return causes


def as_read(obj: JsonObject, schema: Schema) -> JsonObject:
    """What Go would read of an object that was stored before zeros were left out."""
    copied: JsonObject = decode(encode(obj))
    conform_types(copied, schema)
    return copied


def restored_error(obj: JsonObject, schema: Schema) -> str:
    """What Kubernetes says of a strategic merge patch that sets a field to a value of another type, with the field in
    front, which Kubernetes does not name. Empty if there is no such field. It drops nulls in place.
    """
    found = (each for each in conform_types(obj, schema) if isinstance(each, WrongType) and each.restored)
    first = next(found, None)
    return "" if first is None else f"{first.field}: {first.restored}"


def _struct(value: JsonObject, schema: Schema, path: str, causes: list[Cause]) -> None:
    properties, additional, omitted = schema.properties, schema.additional, schema.omitted
    absent = list[str]()
    for name, member in value.items():
        child = properties.get(name) or additional
        if child is None:
            continue
        if member is None:
            absent.append(name)
        elif type(member) is not str or child.type != "string" or child.format:
            known = len(causes)
            kept = _value(member, child, f"{path}.{name}" if path else name, causes)
            if kept is not member:
                value[name] = kept
            if causes and are_enough(causes):
                return
            if not member and name in omitted and len(causes) == known:
                absent.append(name)
        elif not member and name in omitted:
            absent.append(name)
    for name in absent:
        zero = None if additional is None else _ZEROS.get(additional.type or additional.name)
        if zero is None:
            del value[name]
        else:
            value[name] = zero


def _value(value: Json, schema: Schema, path: str, causes: list[Cause]) -> Json:
    """The value to keep in its place."""
    match schema.type:
        case "object":
            if isinstance(value, dict):
                _struct(value, schema, path, causes)
            else:
                causes.append(_wrong(path, value, schema, "object"))
        case "array":
            _list(value, schema, path, causes)
        case "string":
            return _string(value, schema, path, causes)
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
            return _special(value, schema, path, causes)
    return value


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
            kept = _value(item, items, f"{path}[{index}]", causes)
            if kept is not item:
                value[index] = kept
            if causes and are_enough(causes):
                return


def _string(value: Json, schema: Schema, path: str, causes: list[Cause]) -> Json:
    if not isinstance(value, str):
        causes.append(_wrong(path, value, schema, "string"))
    elif schema.format == "byte":
        value = value.replace("\n", "").replace("\r", "") if "\n" in value or "\r" in value else value
        try:
            b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            causes.append(Cause("FieldValueInvalid", "is not base64", path))
    elif schema.format == "date-time":
        is_micro = schema.name == _MICRO_TIME_NAME
        moment = _moment(value, is_micro)
        if moment is not None:
            return moment
        wanted = "RFC 3339 time with six digits of a second's fraction" if is_micro else "RFC 3339 time"
        causes.append(_wrong(path, value, schema, wanted))
    return value


def _moment(text: str, is_micro: bool) -> str | None:
    """A time in UTC, in whole seconds or in microseconds; None if Go would not read it."""
    found = _TIME.fullmatch(text)
    if found is None or (is_micro and len(found[2] or "") != _MICROSECONDS):
        return None
    try:
        if not is_micro and not found[2] and found[3] == "Z":
            datetime.fromisoformat(found[1])  # a day that exists; nearly all times are written so
            return text
        moment = datetime.fromisoformat(found[1] + (found[2] or "" if is_micro else "") + found[3]).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    written = moment.replace(tzinfo=None).isoformat(timespec="microseconds" if is_micro else "seconds") + "Z"
    return text if written == text else written


def _special(value: Json, schema: Schema, path: str, causes: list[Cause]) -> Json:
    if schema.int_or_string:
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            causes.append(_wrong(path, value, schema, "integer or string"))
    elif schema.name == _QUANTITY_NAME:
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            try:
                return _canonical(value if isinstance(value, str) else repr(value))
            except QuantityError as error:
                causes.append(Cause("FieldValueInvalid", error.reason, path))
        else:
            causes.append(_wrong(path, value, schema, "quantity"))
    return value


@cached(2048)
def _canonical(text: str) -> str:
    written = str(Quantity.parse(text.strip(" ")))
    return text if written == text else written


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
