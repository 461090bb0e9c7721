"""JSON in and out, with the limits that outside input needs.

Everything the package stores or sends is encoded here, and everything that comes from outside is decoded here, so
nesting and invalid UTF-8 have one place where they are refused. What is let in may be walked by recursion: the limit
on nesting is well below the one of the stack.
"""

from __future__ import annotations

from typing import Any

import msgspec

from homeostat.objects.errors import BadRequestError

Json = Any
JsonObject = dict[str, Any]

MAX_DEPTH = 200
"""How deep objects and arrays may be nested in one another."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()

encode = _encoder.encode


def decode(data: bytes) -> Json:
    """The value of a JSON document from outside; `BadRequestError` for anything that is not one."""
    try:
        value = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequestError(f"the body is not valid JSON: {error}") from error
    except RecursionError as error:
        raise BadRequestError("the body is not valid JSON: it is nested too deeply") from error
    # Nearly every document has fewer brackets than it may have levels.
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH and is_deeper(value, MAX_DEPTH):
        raise BadRequestError(f"the body is nested too deeply: more than {MAX_DEPTH} levels")
    return value


def is_deeper(value: Json, levels: int) -> bool:
    """Whether objects and arrays are nested more than so many times."""
    layer = [value] if isinstance(value, dict | list) else []
    for _ in range(levels):
        if not layer:
            return False
        layer = [
            child
            for each in layer
            for child in (each.values() if type(each) is dict else each)
            if type(child) is dict or type(child) is list
        ]
    return bool(layer)


def decode_object(data: bytes) -> JsonObject:
    value = decode(data)
    if not isinstance(value, dict):
        raise BadRequestError(f"expected a JSON object, got {type_name(value)}")
    return value


def decode_stored(data: bytes) -> JsonObject:
    """The value of bytes that this package encoded itself."""
    value: JsonObject = _decoder.decode(data)
    return value


def type_name(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
