"""Protobuf messages that JSON shows as something else: times, quantities, int-or-string, embedded JSON.

Each reader gives the JSON value that Go's encoder would give, or `ABSENT` where that is null (a zero time).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from homeostat.objects import json
from homeostat.objects.errors import BadRequestError

Reader = Callable[[bytes, int, int, int], Any]
"""The JSON value of `data[pos:stop]`; the last argument is the depth at which it stands."""

ABSENT: Final = object()
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  only ever added to, then written with a Z
_YEARS_1_TO_9999 = range(-62135596800, 253402300800)
_NANOS = range(1_000_000_000)
_SECONDS, _NANOSECONDS, _FIRST_AS_BYTES = 1 << 3, 2 << 3, 1 << 3 | 2
_INT32_SIGN, _INT64_SIGN = 1 << 31, 1 << 63


def varint(data: bytes, pos: int) -> tuple[int, int]:
    """An unsigned number and where it ends."""
    value = data[pos]
    pos += 1
    if value < 0x80:
        return value, pos
    value &= 0x7F
    shift = 7
    while shift < 70:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, pos
        shift += 7
    raise BadRequestError("the body is not valid protobuf: a number has more than ten bytes")


def int32(value: int) -> int:
    return ((value & 0xFFFFFFFF) ^ _INT32_SIGN) - _INT32_SIGN


def int64(value: int) -> int:
    return (value ^ _INT64_SIGN) - _INT64_SIGN


def members(data: bytes, pos: int, stop: int) -> dict[int, Any]:
    """The fields of a small message by number: numbers unsigned, the rest as bytes; the last of a number wins."""
    found: dict[int, Any] = {}
    while pos < stop:
        tag, pos = varint(data, pos)
        value, pos = varint(data, pos)
        if tag & 7 == 2:
            end = pos + value
            if end > stop:
                raise BadRequestError("the body is not valid protobuf: it ends inside a field")
            found[tag >> 3], pos = data[pos:end], end
        elif tag & 7 == 0:
            found[tag >> 3] = value
        else:
            raise BadRequestError(f"the body is not valid protobuf: field {tag >> 3} has wire type {tag & 7}")
    if pos != stop:
        raise BadRequestError("the body is not valid protobuf: it ends inside a field")
    return found


def _member(found: dict[int, Any], number: int, default: Any) -> Any:
    value = found.get(number, default)
    if type(value) is not type(default):
        raise BadRequestError(f"the body is not valid protobuf: field {number} has the wrong wire type")
    return value


def read_time(data: bytes, pos: int, stop: int, _depth: int) -> Any:
    return ABSENT if pos == stop else f"{_moment(data, pos, stop)[0]}Z"


def read_micro_time(data: bytes, pos: int, stop: int, _depth: int) -> Any:
    if pos == stop:
        return ABSENT
    moment, nanos = _moment(data, pos, stop)
    return f"{moment}.{nanos // 1000:06d}Z"


def _moment(data: bytes, pos: int, stop: int) -> tuple[str, int]:
    seconds = nanos = 0
    while pos < stop:
        tag = data[pos]
        number, pos = varint(data, pos + 1)
        if tag == _SECONDS:
            seconds = int64(number)
        elif tag == _NANOSECONDS:
            nanos = number
        else:
            raise BadRequestError(f"the body is not valid protobuf: field {tag >> 3} in a time")
    if pos != stop:
        raise BadRequestError("the body is not valid protobuf: it ends inside a field")
    if seconds not in _YEARS_1_TO_9999 or nanos not in _NANOS:
        raise BadRequestError("the body holds a time outside of the years 1 to 9999")
    return (_EPOCH + timedelta(seconds=seconds)).isoformat(), nanos


def read_quantity(data: bytes, pos: int, stop: int, _depth: int) -> str:
    text: bytes = _member(members(data, pos, stop), 1, b"")
    return text.decode() or "0"


def read_int_or_string(data: bytes, pos: int, stop: int, _depth: int) -> int | str:
    found = members(data, pos, stop)
    if _member(found, 1, 0) == 1:
        text: bytes = _member(found, 3, b"")
        return text.decode()
    return int32(_member(found, 2, 0))


def read_json(data: bytes, pos: int, stop: int, _depth: int) -> Any:
    """A message of one field that holds a JSON document; null if it is empty."""
    raw: bytes = _member(members(data, pos, stop), 1, b"")
    return json.decode(raw) if raw else None


def read_fields(data: bytes, pos: int, stop: int, _depth: int) -> Any:
    fields = read_json(data, pos, stop, _depth)
    return ABSENT if fields is None else fields


def read_string(data: bytes, pos: int, stop: int, _depth: int) -> str:
    return data[pos:stop].decode()


def read_bytes(data: bytes, pos: int, stop: int, _depth: int) -> str:
    return b64encode(data[pos:stop]).decode()


def read_strings(data: bytes, pos: int, stop: int, _depth: int) -> list[str]:
    """A message whose one field is a list of strings."""
    found: list[str] = []
    while pos < stop:
        tag, pos = varint(data, pos)
        size, pos = varint(data, pos)
        if tag != _FIRST_AS_BYTES:
            raise BadRequestError(f"the body is not valid protobuf: field {tag >> 3} in a list of strings")
        found.append(data[pos : pos + size].decode())
        pos += size
    if pos != stop:
        raise BadRequestError("the body is not valid protobuf: it ends inside a field")
    return found


LEAVES: dict[str, Reader] = {
    "string": read_string,
    "bytes": read_bytes,
    "time": read_time,
    "microtime": read_micro_time,
    "quantity": read_quantity,
    "intorstring": read_int_or_string,
    "fields": read_fields,
    "json": read_json,
    "strings": read_strings,
}
