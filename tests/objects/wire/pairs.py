"""A protobuf encoder as Go's is, driven by the type table: zero scalars and empty structs are sent unless pointers."""

from __future__ import annotations

import struct
from base64 import b64decode
from datetime import datetime
from typing import Any

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.wire.type_table import Field, kind_named, type_named

_ZEROS = {"string": "", "bool": False, "int32": 0, "int64": 0}
_SCHEMA = "apiextensions.v1.JSONSchemaProps"


def envelope(obj: JsonObject) -> bytes:
    group, _, version = obj["apiVersion"].rpartition("/")
    name = kind_named(group, version, obj["kind"])
    assert name is not None
    return sealed(obj["apiVersion"], obj["kind"], message(obj, name))


def sealed(api_version: str, kind: str, raw: bytes) -> bytes:
    type_meta = chunk(1, api_version.encode()) + chunk(2, kind.encode())
    return b"k8s\0" + chunk(1, type_meta) + chunk(2, raw) + chunk(3, b"") + chunk(4, b"")


def varint(number: int) -> bytes:
    number &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def tag(number: int, wire: int) -> bytes:
    return varint(number << 3 | wire)


def chunk(number: int, data: bytes) -> bytes:
    return tag(number, 2) + varint(len(data)) + data


def message(obj: JsonObject, type_name: str) -> bytes:
    return b"".join(_field(obj, field) for field in type_named(type_name).fields)


def _field(obj: JsonObject, field: Field) -> bytes:
    if not field.name:
        return chunk(field.number, message(obj, field.type))
    value = obj.get(field.name)
    if field.shape == "[]":
        return b"".join(_one(field.number, each, field.type) for each in value or ())
    if field.shape == "{}":
        entries = [chunk(1, key.encode()) + _one(2, each, field.type) for key, each in (value or {}).items()]
        return b"".join(chunk(field.number, entry) for entry in entries)
    if value is not None:
        return _one(field.number, value, field.type)
    if field.presence == "p" or field.type in ("bytes", "raw", "double"):
        return b""
    return _one(field.number, _ZEROS[field.type], field.type) if field.type in _ZEROS else chunk(field.number, b"")


def _one(number: int, value: Any, type_name: str) -> bytes:
    if type_name in ("bool", "int32", "int64"):
        return tag(number, 0) + varint(int(value))
    if type_name == "double":
        return tag(number, 1) + struct.pack("<d", value)
    return chunk(number, _bytes(value, type_name))


def _bytes(value: Any, type_name: str) -> bytes:
    match type_name:
        case "string":
            return str(value).encode()
        case "bytes":
            return b64decode(value)
        case "time" | "microtime":
            moment = datetime.fromisoformat(value)
            seconds = int((moment.replace(microsecond=0)).timestamp())
            return tag(1, 0) + varint(seconds) + tag(2, 0) + varint(moment.microsecond * 1000)
        case "quantity":
            return chunk(1, value.encode())
        case "intorstring":
            is_text = isinstance(value, str)
            number, text = (0, value.encode()) if is_text else (value, b"")
            return tag(1, 0) + varint(is_text) + tag(2, 0) + varint(number) + chunk(3, text)
        case "raw" | "json" | "fields":
            return chunk(1, msgspec.json.encode(value))
        case "strings":
            return b"".join(chunk(1, each.encode()) for each in value)
        case "schemaorbool":
            schema = chunk(2, message(value, _SCHEMA)) if isinstance(value, dict) else b""
            return tag(1, 0) + varint(value is not False) + schema
        case "schemaorarray" | "schemaorstrings":
            if isinstance(value, dict):
                return chunk(1, message(value, _SCHEMA))
            each_type = _SCHEMA if type_name == "schemaorarray" else "string"
            return b"".join(_one(2, each, each_type) for each in value)
        case _:
            return message(value, type_name)
