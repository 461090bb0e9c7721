"""JSON in and out, with the limits that outside input needs.

Everything the package stores or sends is encoded here, and everything that comes from outside is decoded here, so
nesting, NUL characters and invalid UTF-8 have one place where they are refused.
"""

from __future__ import annotations

from typing import Any

import msgspec

from homeostat.objects.errors import BadRequestError

Json = Any
JsonObject = dict[str, Any]

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()

encode = _encoder.encode


def decode(data: bytes) -> Json:
    """The value of a JSON document from outside; `BadRequestError` for anything that is not one."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequestError(f"the body is not valid JSON: {error}") from error
    except RecursionError as error:
        raise BadRequestError("the body is not valid JSON: it is nested too deeply") from error


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
