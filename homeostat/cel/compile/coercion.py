"""Converts JSON values to their declared types when they are read.

JSON has no timestamps, durations, bytes or doubles without a fraction: a schema says which strings and numbers
represent such values. Only what an expression reads is converted, never the whole object. A conversion leaves values
that already have their type as they are. Objects inside containers stay JSON until one of their members is read; so
two such objects compare as JSON.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from homeostat.cel.errors import EvaluationError
from homeostat.cel.timestamps import parse_duration, parse_timestamp
from homeostat.cel.types import BYTES, DOUBLE, DURATION, TIMESTAMP, ListType, MapType, Type

Coercion = Callable[[Any], Any]


def coercion(type_: Type) -> Coercion | None:
    """The conversion that reading a value of a type needs; None for most types."""
    if isinstance(type_, ListType):
        each = coercion(type_.element)
        return None if each is None else _list_of(each)
    if isinstance(type_, MapType):
        each = coercion(type_.value)
        return None if each is None else _map_of(each)
    return _SCALARS.get(type_)


def _double(value: Any) -> Any:
    return float(value) if type(value) is int else value


def _timestamp(value: Any) -> Any:
    return parse_timestamp(value) if type(value) is str else value


def _duration(value: Any) -> Any:
    return parse_duration(value) if type(value) is str else value


def _bytes(value: Any) -> Any:
    if type(value) is not str:
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise EvaluationError(f"not base64: {error}") from error


_SCALARS: dict[Type, Coercion] = {DOUBLE: _double, TIMESTAMP: _timestamp, DURATION: _duration, BYTES: _bytes}


def _list_of(each: Coercion) -> Coercion:
    return lambda values: [each(value) for value in values] if type(values) is list else values


def _map_of(each: Coercion) -> Coercion:
    return lambda values: {key: each(value) for key, value in values.items()} if type(values) is dict else values
