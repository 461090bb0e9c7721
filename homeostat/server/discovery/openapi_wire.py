"""OpenAPI v2 as protobuf, the form that Go clients request: the messages of `openapi.v2`, field by field.

Messages can be concatenated: the document is its head followed by one `paths` and one `definitions` for each group and
version, which a reader merges.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from homeostat.objects.json import JsonObject, encode
from homeostat.objects.wire.chunk import chunk, varint

_Write = Callable[[int, Any], bytes]
_Message = Mapping[str, tuple[int, _Write]]
"""Number and writer of each member."""


def head(info: Mapping[str, str], security: Mapping[str, Mapping[str, str]]) -> bytes:
    """Everything of the document but its paths and definitions."""
    keys = b"".join(_sent(1, _named(name, _sent(2, _write(_API_KEY, each)))) for name, each in security.items())
    required = b"".join(_sent(12, _sent(1, _named(name, b""))) for name in security)
    return _text(1, "2.0") + _sent(2, _write(_INFO, info)) + required + _sent(13, keys)


def paths(items: Mapping[str, JsonObject]) -> bytes:
    return _sent(8, b"".join(_sent(2, _named(path, _write(_PATH_ITEM, item))) for path, item in items.items()))


def named_definition(name: str, schema: JsonObject) -> bytes:
    return _sent(1, _named(name, _schema(schema)))


def definitions(named: Iterable[bytes]) -> bytes:
    return _sent(9, b"".join(named))


def _sent(number: int, message: bytes) -> bytes:
    return chunk(varint(number << 3 | 2), message)


def _text(number: int, value: str) -> bytes:
    return _sent(number, value.encode())


def _texts(number: int, values: Iterable[str]) -> bytes:
    return b"".join(_text(number, each) for each in values)


def _integer(number: int, value: float) -> bytes:
    return varint(number << 3) + varint(int(value))


def _double(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


def _any(value: Any) -> bytes:
    """The value as YAML; JSON is YAML."""
    return _sent(2, encode(value))


def _anys(number: int, values: Iterable[Any]) -> bytes:
    return b"".join(_sent(number, _any(each)) for each in values)


def _named(name: str, value: bytes) -> bytes:
    return _text(1, name) + _sent(2, value)


def _schema(schema: JsonObject) -> bytes:
    return _write(_SCHEMA, schema)


def _further(number: int, value: Any) -> bytes:
    """`additionalProperties`: a schema or a boolean."""
    return _sent(number, _integer(2, value) if isinstance(value, bool) else _sent(1, _schema(value)))


def _properties(number: int, values: Mapping[str, JsonObject]) -> bytes:
    return _sent(number, b"".join(_sent(1, _named(name, _schema(each))) for name, each in values.items()))


def _parameter(parameter: JsonObject) -> bytes:
    match parameter["in"]:
        case "body":
            return _sent(1, _sent(1, _write(_BODY, parameter)))
        case "path":
            return _sent(1, _sent(2, _sent(4, _write(_IN_PATH, parameter))))
        case _:
            return _sent(1, _sent(2, _sent(3, _write(_IN_QUERY, parameter))))


def _parameters(number: int, values: Iterable[JsonObject]) -> bytes:
    return b"".join(_sent(number, _parameter(each)) for each in values)


def _responses(number: int, values: Mapping[str, JsonObject]) -> bytes:
    named = (_sent(1, _named(code, _sent(1, _write(_RESPONSE, each)))) for code, each in values.items())
    return _sent(number, b"".join(named))


def _operation(number: int, value: JsonObject) -> bytes:
    return _sent(number, _write(_OPERATION, value))


def _write(fields: _Message, value: Mapping[str, Any]) -> bytes:
    """The members that the message has; `x-` members are its vendor extensions."""
    parts = []
    for name, member in value.items():
        known = fields.get(name)
        if known is not None:
            parts.append(known[1](known[0], member))
        elif name.startswith("x-") and _VENDOR in fields:
            parts.append(_sent(fields[_VENDOR][0], _named(name, _any(member))))
    return b"".join(parts)


_VENDOR: Final = ""
_INFO: Final[_Message] = {"title": (1, _text), "version": (2, _text)}
_API_KEY: Final[_Message] = {"type": (1, _text), "name": (2, _text), "in": (3, _text)}
_SCHEMA: Final[_Message] = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "multipleOf": (6, _double),
    "maximum": (7, _double),
    "exclusiveMaximum": (8, _integer),
    "minimum": (9, _double),
    "exclusiveMinimum": (10, _integer),
    "maxLength": (11, _integer),
    "minLength": (12, _integer),
    "pattern": (13, _text),
    "maxItems": (14, _integer),
    "minItems": (15, _integer),
    "uniqueItems": (16, _integer),
    "maxProperties": (17, _integer),
    "minProperties": (18, _integer),
    "required": (19, _texts),
    "enum": (20, _anys),
    "additionalProperties": (21, _further),
    "type": (22, lambda number, value: _sent(number, _text(1, value))),
    "items": (23, lambda number, value: _sent(number, _sent(1, _schema(value)))),
    "properties": (25, _properties),
    _VENDOR: (31, _text),
}
_BODY: Final[_Message] = {
    "name": (2, _text),
    "in": (3, _text),
    "required": (4, _integer),
    "schema": (5, lambda number, value: _sent(number, _schema(value))),
}
_IN_PATH: Final[_Message] = {
    "required": (1, _integer),
    "in": (2, _text),
    "name": (4, _text),
    "type": (5, _text),
    "uniqueItems": (19, _integer),
}
_IN_QUERY: Final[_Message] = {
    "required": (1, _integer),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (6, _text),
    "uniqueItems": (20, _integer),
}
_RESPONSE: Final[_Message] = {
    "description": (1, _text),
    "schema": (2, lambda number, value: _sent(number, _sent(1, _schema(value)))),
}
_OPERATION: Final[_Message] = {
    "tags": (1, _texts),
    "operationId": (5, _text),
    "produces": (6, _texts),
    "consumes": (7, _texts),
    "parameters": (8, _parameters),
    "responses": (9, _responses),
    "schemes": (10, _texts),
    _VENDOR: (13, _text),
}
_PATH_ITEM: Final[_Message] = {
    "get": (2, _operation),
    "put": (3, _operation),
    "post": (4, _operation),
    "delete": (5, _operation),
    "patch": (8, _operation),
    "parameters": (9, _parameters),
}
