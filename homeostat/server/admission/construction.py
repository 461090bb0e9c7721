"""What an expression of a mutating policy constructs: `Object{spec: Object.spec{replicas: 3}}`, `JSONPatch{op: ...}`.

Pure. The name of an `Object` is the path of the field that it is for; any field may be set, and the schema of the kind
decides later. Values become JSON before they are merged or applied.
"""

from __future__ import annotations

import base64
from typing import Any

from homeostat.cel import DYN, STRING, ListType, OpaqueType, StructType, function
from homeostat.cel.timestamps import Duration, Timestamp
from homeostat.cel.values import Struct, Uint, type_name
from homeostat.objects.json import Json, JsonObject

_ROOT = "Object"
OBJECT = OpaqueType(_ROOT)
_OPERATION = OpaqueType("JSONPatch")
OPERATIONS = ListType(_OPERATION)
_JSON_PATCH = StructType(_OPERATION, {"op": STRING, "path": STRING, "from": STRING, "value": DYN})
ESCAPE_KEY = function("jsonpatch.escapeKey(string) -> string", lambda key: key.replace("~", "~0").replace("/", "~1"))


MOST_PARTS = 200_000
"""The values of a mutation, where 16 characters of a text count as one: about as many as a request can have."""
_CHARACTERS_OF_A_PART = 16


class ConstructionError(Exception):
    """A mutation cannot use a constructed value."""


def constructed(name: str) -> StructType | None:
    """The type that an expression constructs by a name."""
    if name == _ROOT or name.startswith(f"{_ROOT}."):
        return StructType(OpaqueType(name))
    return _JSON_PATCH if name == _OPERATION.name else None


def size_of(value: Any, most: int) -> int:
    """The number of values in a value, counted up to `most`. A value that has its parts more than once is counted as
    JSON would have it.
    """
    count, waiting = 0, [value]
    while waiting and count < most:
        each = waiting.pop()
        count += 1
        if isinstance(each, dict):
            waiting += each.values()
            count += sum(len(key) for key in each if isinstance(key, str)) // _CHARACTERS_OF_A_PART
        elif isinstance(each, list):
            waiting += each
        elif isinstance(each, (str, bytes)):
            count += len(each) // _CHARACTERS_OF_A_PART
    return min(count, most)


def patch_object(value: Any) -> JsonObject:
    """The fields that an ApplyConfiguration sets."""
    plain = _plain(value, _ROOT)
    if not isinstance(plain, dict):
        raise ConstructionError(f"unsupported return type from ApplyConfiguration expression: {type_name(value)}")
    return plain


def patch_operations(value: Any) -> list[JsonObject]:
    """The operations of a JSONPatch. A member that was not set is left out."""
    return [_operation(each) for each in value]


def _operation(value: Any) -> JsonObject:
    operation = {name: _plain(each, "") for name, each in value.items()}
    if not operation.get("from"):
        operation.pop("from", None)
    return {"op": "", "path": "", **operation}


def _plain(value: Any, expected: str) -> Json:
    """The value as JSON; each `Object` in it must have the name of its place, if that is known."""
    match value:
        case Struct():
            if expected and value.name != expected:
                raise ConstructionError(
                    f'type mismatch: unexpected type name "{value.name}", expected "{expected}", which matches field '
                    "name path from root Object type"
                )
            return {name: _plain(each, f"{value.name}.{name}") for name, each in value.items()}
        case dict():
            return {_key(name): _plain(each, expected) for name, each in value.items()}
        case list():
            return [_plain(each, expected) for each in value]
        case bool() | str() | float() | None:
            return value
        case Uint() | int():
            return int(value)
        case bytes():
            return base64.b64encode(value).decode()
        case Timestamp() | Duration():
            return str(value)
    raise ConstructionError(f"type mismatch: a value of type {type_name(value)} cannot be written as JSON")


def _key(name: object) -> str:
    if isinstance(name, str):
        return name
    raise ConstructionError(f"type mismatch: a key of type {type_name(name)} cannot be written as JSON")
