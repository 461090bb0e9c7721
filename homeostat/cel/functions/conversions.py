"""Sizes, types and conversions between them."""

from __future__ import annotations

from math import isfinite
from typing import Any

from homeostat.cel.errors import EvaluationError, shown
from homeostat.cel.functions.numerals import double_text, parse_double, parse_int
from homeostat.cel.functions.operations import checked_int, checked_uint
from homeostat.cel.registry import Overload, function, member
from homeostat.cel.timestamps import SECOND, Duration, Timestamp, parse_duration, parse_timestamp, timestamp_of
from homeostat.cel.values import INT_MAX, INT_MIN, UINT_MAX, TypeValue, Uint, type_name

_BOOLS = dict.fromkeys(("true", "True", "TRUE", "t", "1"), True) | dict.fromkeys(
    ("false", "False", "FALSE", "f", "0"), False
)


def _bool_of(text: str) -> bool:
    if text in _BOOLS:
        return _BOOLS[text]
    raise EvaluationError(f"type conversion error from 'string' to 'bool': \"{shown(text)}\"")


def _int_of_double(value: float) -> int:
    # The ends are excluded: the nearest doubles of the greatest ints lie outside of their range.
    if isfinite(value) and INT_MIN < value < INT_MAX:
        return int(value)
    raise EvaluationError("integer overflow")


def _uint_of_double(value: float) -> Uint:
    if isfinite(value) and 0 <= value < UINT_MAX:
        return Uint(int(value))
    raise EvaluationError("unsigned integer overflow")


def _text_of_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def _tenth(value: Any) -> int:
    return len(value) // 10


CONVERSIONS: tuple[Overload, ...] = (
    *(function(f"size({each}) -> int", len) for each in ("string", "bytes", "list(A)", "map(A, B)")),
    *(member(f"{each}.size() -> int", len) for each in ("string", "bytes", "list(A)", "map(A, B)")),
    function("type(A) -> type(A)", lambda value: TypeValue(type_name(value))),
    function("dyn(A) -> dyn", lambda value: value),
    function("bool(bool) -> bool", bool),
    function("bool(string) -> bool", _bool_of),
    function("int(int) -> int", lambda value: value),
    function("int(uint) -> int", lambda value: checked_int(int(value))),
    function("int(double) -> int", _int_of_double),
    function("int(string) -> int", lambda text: checked_int(parse_int(text))),
    function("int(timestamp) -> int", lambda value: value.nanoseconds // SECOND),
    function("int(duration) -> int", lambda value: value.nanoseconds),
    function("uint(uint) -> uint", lambda value: value),
    function("uint(int) -> uint", checked_uint),
    function("uint(double) -> uint", _uint_of_double),
    function("uint(string) -> uint", lambda text: checked_uint(parse_int(text, is_signed=False))),
    function("double(double) -> double", lambda value: value),
    function("double(int) -> double", float),
    function("double(uint) -> double", float),
    function("double(string) -> double", parse_double, _tenth),
    function("string(string) -> string", lambda value: value),
    function("string(bool) -> string", lambda value: "true" if value else "false"),
    function("string(int) -> string", str),
    function("string(uint) -> string", lambda value: str(int(value))),
    function("string(double) -> string", double_text),
    function("string(bytes) -> string", _text_of_bytes, _tenth),
    function("string(timestamp) -> string", Timestamp.__str__),
    function("string(duration) -> string", Duration.__str__),
    function("bytes(bytes) -> bytes", lambda value: value),
    function("bytes(string) -> bytes", str.encode, _tenth, result_size=lambda size: 4 * size),
    function("timestamp(timestamp) -> timestamp", lambda value: value),
    function("timestamp(string) -> timestamp", parse_timestamp),
    function("timestamp(int) -> timestamp", lambda seconds: timestamp_of(seconds * SECOND)),
    function("duration(duration) -> duration", lambda value: value),
    function("duration(string) -> duration", parse_duration),
    function("duration(int) -> duration", Duration),
)
