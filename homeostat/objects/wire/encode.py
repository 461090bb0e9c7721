"""Objects of built-in kinds as protobuf, byte for byte as Go encodes them.

The table of types drives it, as it drives the decoding (`protobuf.py`); the fields of a type are compiled on first use.
As in Go, fields are in the order of their numbers and the entries of a map in the order of their keys, and a field that
is no pointer is there with its zero value if JSON lacks it.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from heapq import merge
from struct import pack
from typing import Any

from homeostat.objects import json
from homeostat.objects.json import JsonObject
from homeostat.objects.wire.chunk import chunk, varint
from homeostat.objects.wire.protobuf import MAGIC
from homeostat.objects.wire.type_table import Field, kind_named, type_named

Writer = Callable[[Any], bytes]
Row = tuple[str, Writer, bytes]
"""The JSON name of a field, what writes it with its tag, and what stands for it if JSON lacks it."""

SEALED_TAIL = b'\x1a\0"\0'
"""The end of an envelope: the message has no encoding and no content type of its own."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZERO_TIME = datetime(1, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_SCHEMA = "apiextensions.v1.JSONSchemaProps"
_FIRST, _SECOND_FIELD = b"\x0a", b"\x12"
_SORTED_AT_ONCE = 10_000

_NOTHING: Any = object()

_messages: dict[str, Writer] = {}


def encode(obj: JsonObject) -> bytes:
    """An object or list of a built-in kind in the envelope that names its kind; `KeyError` for any other kind."""
    api_version, kind = obj.get("apiVersion", ""), obj["kind"]
    group, _, version = api_version.rpartition("/")
    # The APIVersions at `/api` have no apiVersion.
    name = kind_named(group, version or "v1", kind)
    if name is None:
        raise KeyError(f"{kind} of {api_version} is not a built-in kind")
    return sealed(api_version, kind, message_writer(name)(obj))


def sealed(api_version: str, kind: str, raw: bytes) -> bytes:
    """A message in its envelope."""
    return sealed_head(api_version, kind, len(raw)) + raw + SEALED_TAIL


def sealed_head(api_version: str, kind: str, size: int) -> bytes:
    """The envelope up to its message, which has so many bytes."""
    type_meta = chunk(_FIRST, api_version.encode()) + chunk(_SECOND_FIELD, kind.encode())
    return MAGIC + chunk(_FIRST, type_meta) + _SECOND_FIELD + varint(size)


def list_metadata(metadata: JsonObject) -> bytes:
    """The metadata as the first field of any kind of list."""
    return chunk(_FIRST, message_writer("meta.v1.ListMeta")(metadata))


def list_item(raw: bytes) -> bytes:
    """A message as an item of any kind of list."""
    return chunk(_SECOND_FIELD, raw)


def watch_event(change: str, document: bytes) -> bytes:
    """An event of a watch: its length in four bytes, then a WatchEvent with an object in its envelope."""
    event = chunk(_FIRST, change.encode()) + chunk(_SECOND_FIELD, chunk(_FIRST, document))
    return pack(">I", len(event)) + event


def message_writer(name: str) -> Writer:
    """What writes the message of a type, `core.v1.Pod`."""
    found = _messages.get(name)
    if found is None:
        fields = sorted(type_named(name).fields, key=lambda each: each.number)
        found = _messages[name] = _message_of([_row(field) for field in fields])
    return found


def _message_of(rows: list[Row]) -> Writer:
    def write(obj: JsonObject) -> bytes:
        get = obj.get
        return b"".join([absent if (value := get(name)) is None else one(value) for name, one, absent in rows])

    def write_with_inlined(obj: JsonObject) -> bytes:
        """The fields of an inlined struct stand among those of its parent in JSON, and in a message in protobuf."""
        get = obj.get
        return b"".join(
            [
                one(obj) if not name else absent if (value := get(name)) is None else one(value)
                for name, one, absent in rows
            ]
        )

    return write if all(name for name, _, _ in rows) else write_with_inlined


def _row(field: Field) -> Row:
    if field.shape == "[]":
        one = _tagged(field.number, field.type)
        nothing = _zero(field.type)
        return field.name, lambda values: b"".join([one(nothing if each is None else each) for each in values]), b""
    if field.shape == "{}":
        return field.name, _map_writer(field), b""
    write = _tagged(field.number, field.type)
    is_left_out = field.presence == "p" or field.type in _NIL_IF_ABSENT
    return field.name, write, b"" if is_left_out else write(_zero(field.type))


def _map_writer(field: Field) -> Writer:
    tag, value_of, nothing = varint(field.number << 3 | 2), _tagged(2, field.type), _zero(field.type)

    def write(values: JsonObject) -> bytes:
        entries = [
            chunk(_FIRST, key.encode()) + value_of(nothing if (value := values[key]) is None else value)
            for key in _in_order(values)
        ]
        return b"".join([chunk(tag, entry) for entry in entries])

    return write


def _in_order(keys: JsonObject) -> Iterable[str]:
    """Many keys are sorted in slices, because one call that sorts them would keep other threads from running."""
    if len(keys) <= _SORTED_AT_ONCE:
        return sorted(keys) if len(keys) > 1 else keys
    names = list(keys)
    return merge(*(sorted(names[at : at + _SORTED_AT_ONCE]) for at in range(0, len(names), _SORTED_AT_ONCE)))


def _tagged(number: int, type_name: str) -> Writer:
    """What writes a value with its tag, and its length if it has one."""
    if type_name in _NUMBERS:
        tag = varint(number << 3)
        return lambda value: tag + varint(value)
    if type_name == "double":
        tag = varint(number << 3 | 1)
        return lambda value: tag + pack("<d", value)
    tag = varint(number << 3 | 2)
    if type_name == "string":
        return lambda value: chunk(tag, value.encode())
    write = _LEAVES[type_name] if "." not in type_name else None
    if write is not None:
        return lambda value: chunk(tag, write(value))
    # A type may contain itself, so its writer is looked up when it is first used.
    return lambda value: chunk(tag, (_messages.get(type_name) or message_writer(type_name))(value))


def _zero(type_name: str) -> Any:
    """What Go has where JSON has nothing or null."""
    return _ZEROS[type_name] if "." not in type_name else {}


def _time(value: str) -> bytes:
    return _timestamp(value, 0)


def _micro_time(value: str) -> bytes:
    return _timestamp(value, 1000)


def _timestamp(text: str, nanos_a_microsecond: int) -> bytes:
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        return b""  # no time in Go's sense; the rest of the object is still worth an answer
    if moment == _ZERO_TIME:
        return b""
    seconds = (moment - _EPOCH) // _SECOND
    return b"\x08%b\x10%b" % (varint(seconds), varint(moment.microsecond * nanos_a_microsecond))


def _quantity(value: Any) -> bytes:
    return chunk(_FIRST, str(value).encode())


def _int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\0" + chunk(b"\x1a", value.encode())
    return b"\x08\0\x10%b\x1a\0" % varint(value)


def _raw(value: Any) -> bytes:
    """Embedded JSON; empty if there is none."""
    return chunk(_FIRST, json.encode(value)) if value is not _NOTHING else b""


def _strings(values: list[str]) -> bytes:
    return b"".join([chunk(_FIRST, each.encode()) for each in values])


def _schema_or_bool(value: JsonObject | bool) -> bytes:
    if isinstance(value, bool):
        return b"\x08\x01" if value else b"\x08\0"
    return b"\x08\x01" + chunk(_SECOND_FIELD, message_writer(_SCHEMA)(value))


def _schema_or_array(value: JsonObject | list[Any]) -> bytes:
    if isinstance(value, dict):
        return chunk(_FIRST, message_writer(_SCHEMA)(value))
    return b"".join([chunk(_SECOND_FIELD, message_writer(_SCHEMA)(each)) for each in value])


def _schema_or_strings(value: JsonObject | list[Any]) -> bytes:
    if isinstance(value, dict):
        return chunk(_FIRST, message_writer(_SCHEMA)(value))
    return b"".join([chunk(_SECOND_FIELD, each.encode()) for each in value])


_NUMBERS = frozenset({"int32", "int64", "bool"})
_LEAVES: dict[str, Writer] = {
    "bytes": b64decode,
    "time": _time,
    "microtime": _micro_time,
    "quantity": _quantity,
    "intorstring": _int_or_string,
    "raw": _raw,
    "fields": _raw,
    "json": _raw,
    "strings": _strings,
    "schemaorbool": _schema_or_bool,
    "schemaorarray": _schema_or_array,
    "schemaorstrings": _schema_or_strings,
}
_ZEROS: dict[str, Any] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "double": 0.0,
    "bytes": "",
    "time": "0001-01-01T00:00:00Z",
    "microtime": "0001-01-01T00:00:00Z",
    "quantity": "0",
    "intorstring": 0,
    "raw": _NOTHING,
    "fields": _NOTHING,
    "json": None,
    "strings": (),
    "schemaorbool": False,
    "schemaorarray": (),
    "schemaorstrings": (),
}
_NIL_IF_ABSENT = frozenset({"bytes", "strings"})
"""Slices of Go, which are left out if they are nil."""
