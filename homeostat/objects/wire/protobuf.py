"""Protobuf bodies of built-in kinds as JSON objects.

Go clients send `k8s\\0` and an envelope that names the kind. The result is what Go's JSON encoder would have written
for the same object, without nulls. The table of types drives the decoding; the fields of a kind are compiled on first
use. Unknown fields are skipped, as protobuf requires; anything malformed is a `BadRequestError`, a kind that is not
built in an `UnsupportedMediaTypeError`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from struct import unpack_from
from typing import Any

from homeostat.objects import json
from homeostat.objects.errors import ApiError, BadRequestError, TooLargeError, UnsupportedMediaTypeError
from homeostat.objects.json import JsonObject
from homeostat.objects.wire.leaves import ABSENT, LEAVES, Reader, int32, int64, members, varint
from homeostat.objects.wire.type_table import Field, kind_named, type_named

MAGIC = b"k8s\0"
MAX_BYTES = 3 * 1024 * 1024
MAX_DEPTH = 100
MAX_EXACT = 1 << 53

Store = Callable[[JsonObject, str, bytes, int, int, int], None]
"""Puts `data[pos:stop]` into an object under a name; the last argument is the depth."""
NumberStore = Callable[[JsonObject, str, int], None]
Entry = tuple[str, bool, Any]
"""JSON name, whether a zero value is kept, and its `Store`, `NumberStore` or `_double`; None for a plain string."""
Table = dict[int, Entry]
"""By tag: field number and wire type in one."""

_tables: dict[str, Table] = {}


def decode(body: bytes) -> JsonObject:
    """The JSON object of a protobuf request body."""
    if len(body) > MAX_BYTES:
        raise TooLargeError(f"the body has {len(body)} bytes; the limit is {MAX_BYTES}")
    try:
        obj = _decode(body, 0)
    except (IndexError, UnicodeDecodeError) as error:
        raise _malformed(f"it is truncated or not UTF-8 ({error})") from error
    # An empty message takes two bytes.
    problem = json.excess(obj) if len(body) > 2 * json.MAX_CONTAINERS else ""
    if problem:
        raise BadRequestError(f"the body {problem}")
    return obj


def _decode(body: bytes, depth: int) -> JsonObject:
    if not body.startswith(MAGIC):
        raise _malformed("it does not begin with k8s and a zero byte")
    envelope = members(body, len(MAGIC), len(body))
    if not all(isinstance(value, bytes) for value in envelope.values()):
        raise _malformed("the envelope is not one of Kubernetes")
    type_meta = members(envelope.get(1, b""), 0, len(envelope.get(1, b"")))
    api_version, kind = (_text(type_meta.get(number, b"")) for number in (1, 2))
    group, _, version = api_version.rpartition("/")
    name = kind_named(group, version, kind)
    if name is None:
        raise UnsupportedMediaTypeError(
            f'protobuf is supported for built-in kinds only, and "{kind}" of "{api_version}" is not one; send JSON'
        )
    if envelope.get(3) or envelope.get(4):
        raise UnsupportedMediaTypeError(f'the envelope of a protobuf "{kind}" names another encoding; send it plain')
    obj: JsonObject = {"apiVersion": api_version, "kind": kind}
    raw = envelope.get(2, b"")
    _message(raw, 0, len(raw), _table(name), obj, depth)
    return obj


def _text(value: Any) -> str:
    if not isinstance(value, bytes):
        raise _malformed("the envelope is not one of Kubernetes")
    return value.decode()


def _malformed(reason: str) -> ApiError:
    return BadRequestError(f"the body is not valid protobuf: {reason}")


def _message(data: bytes, pos: int, end: int, table: Table, out: JsonObject, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise _malformed(f"it is nested more than {MAX_DEPTH} deep")
    while pos < end:
        tag = data[pos]
        pos += 1
        if tag > 127:
            tag, pos = varint(data, pos - 1)
        wire = tag & 7
        entry = table.get(tag)
        if entry is None:
            pos = _skip(data, pos, tag, table)
            continue
        name, is_kept, make = entry
        if wire == 1:
            out[name] = make(data, pos)
            pos += 8
            continue
        number = data[pos]
        pos += 1
        if number > 127:
            number, pos = varint(data, pos - 1)
        if wire == 0:
            if number or is_kept:
                make(out, name, number)
            continue
        stop = pos + number
        if stop > end:
            raise _malformed("it ends inside a field")
        if make is not None:
            make(out, name, data, pos, stop, depth)
        elif number or is_kept:
            out[name] = data[pos:stop].decode()
        pos = stop
    if pos != end:
        raise _malformed("it ends inside a field")


def _skip(data: bytes, pos: int, tag: int, table: Table) -> int:
    """Where an unknown field ends."""
    number, wire = tag >> 3, tag & 7
    first = tag & ~7
    if number == 0 or first in table or first | 1 in table or first | 2 in table or first | 5 in table:
        raise _malformed(f"field {number} has wire type {wire}")
    match wire:
        case 0:
            return varint(data, pos)[1]
        case 1:
            return pos + 8
        case 2:
            size, pos = varint(data, pos)
            return pos + size
        case 5:
            return pos + 4
        case _:
            raise _malformed(f"field {number} has wire type {wire}")


def _table(name: str) -> Table:
    found = _tables.get(name)
    if found is None:
        found = {}
        for field in type_named(name).fields:
            found.update(_entries(field))
        _tables[name] = found
    return found


def _entries(field: Field) -> Table:
    as_number, as_bytes = field.number << 3, field.number << 3 | 2
    is_kept = field.presence != "o"
    if field.shape == "{}":
        return {as_bytes: (field.name, True, _map_store(field.type))}
    if field.type in _NUMBERS:
        store = _NUMBERS[field.type]
        if field.shape:
            return {as_number: (field.name, True, _appending(store)), as_bytes: (field.name, True, _packed(store))}
        return {as_number: (field.name, is_kept, store)}
    if field.type == "double":
        return {field.number << 3 | 1: (field.name, True, _double)}
    if field.shape:
        return {as_bytes: (field.name, True, _list_store(_reader(field.type)))}
    if field.type == "string":
        return {as_bytes: (field.name, is_kept, None)}
    if field.is_leaf:
        drops_empty = field.type == "bytes" and not is_kept
        return {as_bytes: (field.name, True, _leaf_store(_reader(field.type), drops_empty=drops_empty))}
    return {as_bytes: (field.name, True, _message_store(field.type, is_inline=not field.name))}


def _reader(type_name: str) -> Reader:
    if "." not in type_name:
        return LEAVES.get(type_name) or _NESTED[type_name]

    def read(data: bytes, pos: int, stop: int, depth: int) -> JsonObject:
        value: JsonObject = {}
        _message(data, pos, stop, _tables.get(type_name) or _table(type_name), value, depth + 1)
        return value

    return read


def _message_store(type_name: str, *, is_inline: bool) -> Store:
    def store(out: JsonObject, name: str, data: bytes, pos: int, stop: int, depth: int) -> None:
        # A message sent twice is merged, so the first one is filled further.
        value = out if is_inline else out.setdefault(name, {})
        _message(data, pos, stop, _tables.get(type_name) or _table(type_name), value, depth + 1)

    return store


def _leaf_store(read: Reader, *, drops_empty: bool) -> Store:
    def store(out: JsonObject, name: str, data: bytes, pos: int, stop: int, depth: int) -> None:
        if drops_empty and pos == stop:
            return
        value = read(data, pos, stop, depth)
        if value is not ABSENT:
            out[name] = value

    return store


def _list_store(read: Reader) -> Store:
    def store(out: JsonObject, name: str, data: bytes, pos: int, stop: int, depth: int) -> None:
        value = read(data, pos, stop, depth)
        found = out.get(name)
        if found is None:
            out[name] = [value]
        else:
            found.append(value)

    return store


def _map_store(type_name: str) -> Store:
    read = _reader(type_name)
    table: Table = {
        0x0A: ("key", True, None),
        0x12: ("value", True, None if type_name == "string" else _leaf_store(read, drops_empty=False)),
    }

    def store(out: JsonObject, name: str, data: bytes, pos: int, stop: int, depth: int) -> None:
        entry: JsonObject = {}
        _message(data, pos, stop, table, entry, depth + 1)
        value = entry["value"] if "value" in entry else read(b"", 0, 0, depth)
        out.setdefault(name, {})[entry.get("key", "")] = None if value is ABSENT else value

    return store


def _set_int32(out: JsonObject, name: str, number: int) -> None:
    out[name] = int32(number)


def _set_int64(out: JsonObject, name: str, number: int) -> None:
    out[name] = int64(number)


def _set_bool(out: JsonObject, name: str, number: int) -> None:
    out[name] = number != 0


_NUMBERS = {"int32": _set_int32, "int64": _set_int64, "bool": _set_bool}


def _appending(store: NumberStore) -> NumberStore:
    def append(out: JsonObject, name: str, number: int) -> None:
        one: JsonObject = {}
        store(one, "", number)
        out.setdefault(name, []).append(one[""])

    return append


def _packed(store: NumberStore) -> Store:
    append = _appending(store)

    def unpack(out: JsonObject, name: str, data: bytes, pos: int, stop: int, _depth: int) -> None:
        while pos < stop:
            number, pos = varint(data, pos)
            append(out, name, number)
        if pos != stop:
            raise _malformed("it ends inside a field")

    return unpack


def _double(data: bytes, pos: int) -> float | int:
    if pos + 8 > len(data):
        raise _malformed("it ends inside a field")
    value: float = unpack_from("<d", data, pos)[0]
    if not isfinite(value):
        raise _malformed("a number is not finite")
    # Go writes a whole number without a fraction.
    return int(value) if value.is_integer() and abs(value) < MAX_EXACT else value


def _read_raw(data: bytes, pos: int, stop: int, depth: int) -> Any:
    """An embedded object: JSON, or an envelope of its own."""
    raw = members(data, pos, stop).get(1, b"")
    if not isinstance(raw, bytes):
        raise _malformed("an embedded object is not bytes")
    if depth > MAX_DEPTH:
        raise _malformed(f"it is nested more than {MAX_DEPTH} deep")
    if raw.startswith(MAGIC):
        return _decode(raw, depth + 1)
    return json.decode(raw) if raw else ABSENT


def _schema_or(other: Field, *, schema_number: int, nothing: Any) -> Reader:
    """JSON schema has places for a schema or something else; the message has a field for each."""
    schema = Field("schema", schema_number, "", "apiextensions.v1.JSONSchemaProps", "p", False, ())
    table = _entries(schema) | _entries(other)

    def read(data: bytes, pos: int, stop: int, depth: int) -> Any:
        found: JsonObject = {}
        _message(data, pos, stop, table, found, depth + 1)
        return found.get("schema", found.get("other", nothing))

    return read


_NESTED: dict[str, Reader] = {"raw": _read_raw}
_NESTED["schemaorbool"] = _schema_or(Field("other", 1, "", "bool", "p", False, ()), schema_number=2, nothing=False)
_NESTED["schemaorstrings"] = _schema_or(
    Field("other", 2, "[]", "string", "p", False, ()), schema_number=1, nothing=ABSENT
)
_NESTED["schemaorarray"] = _schema_or(
    Field("other", 2, "[]", "apiextensions.v1.JSONSchemaProps", "p", False, ()), schema_number=1, nothing=ABSENT
)
