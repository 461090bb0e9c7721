"""Converts JSON values to their declared types when they are read.

JSON has no timestamps, durations, bytes or doubles without a fraction: a schema says which strings and numbers
represent such values. Only what an expression reads is converted, never the whole object. A conversion leaves values
that already have their type as they are. Objects inside containers stay JSON until one of their members is read; so
two such objects compare as JSON. What is read again is converted again, so a conversion costs.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from homeostat.cel.errors import EvaluationError
from homeostat.cel.meter import Meter, spend
from homeostat.cel.timestamps import parse_duration, parse_timestamp
from homeostat.cel.types import BYTES, DOUBLE, DURATION, TIMESTAMP, ListType, MapType, Type

Coercion = Callable[[Any, Meter], Any]
_PARSING_COST = 10


def coercion(type_: Type) -> Coercion | None:
    """The conversion that reading a value of a type needs; None for most types."""
    if isinstance(type_, ListType):
        each = coercion(type_.element)
        return None if each is None else _list_of(each)
    if isinstance(type_, MapType):
        each = coercion(type_.value)
        return None if each is None else _map_of(each)
    return _SCALARS.get(type_)


def _double(value: Any, _: Meter) -> Any:
    return float(value) if type(value) is int else value


def _timestamp(value: Any, meter: Meter) -> Any:
    if type(value) is not str:
        return value
    spend(meter, _PARSING_COST)
    return parse_timestamp(value)


def _duration(value: Any, meter: Meter) -> Any:
    if type(value) is not str:
        return value
    spend(meter, _PARSING_COST)
    return parse_duration(value)


def _bytes(value: Any, meter: Meter) -> Any:
    if type(value) is not str:
        return value
    spend(meter, len(value) // 10)
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise EvaluationError(f"not base64: {error}") from error


_SCALARS: dict[Type, Coercion] = {DOUBLE: _double, TIMESTAMP: _timestamp, DURATION: _duration, BYTES: _bytes}


def _list_of(each: Coercion) -> Coercion:
    def convert(values: Any, meter: Meter) -> Any:
        if type(values) is not list:
            return values
        spend(meter, len(values))
        return [each(value, meter) for value in values]

    return convert


def _map_of(each: Coercion) -> Coercion:
    def convert(values: Any, meter: Meter) -> Any:
        if type(values) is not dict:
            return values
        spend(meter, len(values))
        return {key: each(value, meter) for key, value in values.items()}

    return convert
