"""JSON in and out, with the limits that outside input needs.

This module encodes everything that the package stores or sends, and decodes everything that comes from outside. So
there is one place that rejects deep nesting and invalid UTF-8. Callers may recurse over decoded values: the limit on
nesting is well below that of the stack.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import isinf
from typing import Any

import msgspec

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json.pieces import decode_pieces, is_dense

Json = Any
JsonObject = dict[str, Any]

MAX_DEPTH = 200
"""How deep objects and arrays may be nested in one another."""
MAX_CONTAINERS = 100_000
"""How many objects and arrays a document may have: small ones take a hundred times their bytes in memory."""

_TOO_MANY = f"is too large: more than {MAX_CONTAINERS} objects and arrays"
_INT64 = 1 << 63
_NO_MARKS = bytes(each for each in range(256) if each not in b'"{[')


def whole(number: float) -> int | float:
    """The integer that a float stands for; the float itself if there is none, or beyond 64 bits."""
    return int(number) if number.is_integer() and -_INT64 <= number < _INT64 else number


def _read_number(text: str) -> int | float:
    number = float(text)
    if isinf(number):
        raise msgspec.ValidationError("Number out of range")
    return whole(number)


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()
_whole_decoder = msgspec.json.Decoder(float_hook=_read_number)

encode = _encoder.encode


def decode(data: bytes, *, in_pieces: bool = False, makes_whole: bool = False) -> Json:
    """The value of a JSON document from outside; `BadRequestError` for anything that is not one.

    In pieces a large document takes longer, and lets other threads run meanwhile: for callers beside the event loop.
    With `makes_whole`, which is not for pieces, whole numbers are integers however they are written.
    """
    # Nearly every document has fewer brackets than the limit has levels.
    brackets = data.count(b"{") + data.count(b"[")
    if brackets > MAX_CONTAINERS and _has_too_many_containers(data):
        raise BadRequestError(f"the body {_TOO_MANY}")
    try:
        if makes_whole:
            value = _whole_decoder.decode(data)
        else:
            value = decode_pieces(data) if in_pieces and is_dense(data) else _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequestError(f"the body is not valid JSON: {error}") from error
    except RecursionError as error:
        raise BadRequestError("the body is not valid JSON: it is nested too deeply") from error
    if brackets > MAX_DEPTH:
        problem = excess(value)
        if problem:
            raise BadRequestError(f"the body {problem}")
    return value


def _has_too_many_containers(data: bytes) -> bool:
    """Counts brackets outside of texts. A million empty arrays would take half a second to decode, in one call."""
    text = data.replace(rb"\\", b"").replace(rb"\"", b"") if b"\\" in data else data
    # Two quotes beside each other may go: what follows stays inside or outside of a text.
    marks = text.translate(None, _NO_MARKS).replace(b'""', b"")
    between = marks.split(b'"', 2 * MAX_CONTAINERS)[::2]
    return sum(map(len, between)) > MAX_CONTAINERS


def is_deeper(value: Json, levels: int) -> bool:
    """Whether objects and arrays are nested more than so many times."""
    return next(islice(_layers(value), levels, None), None) is not None


def excess(value: Json) -> str:
    """Which limit a value exceeds, in words that follow its name; empty if it exceeds none."""
    count = 0
    for depth, layer in enumerate(_layers(value), 1):
        count += len(layer)
        if depth > MAX_DEPTH:
            return f"is nested too deeply: more than {MAX_DEPTH} levels"
        if count > MAX_CONTAINERS:
            return _TOO_MANY
    return ""


def _layers(value: Json) -> Iterator[list[Json]]:
    """The objects and arrays of a value by depth, without recursion."""
    layer = [value] if isinstance(value, dict | list) else []
    while layer:
        yield layer
        layer = [
            child
            for each in layer
            for child in (each.values() if type(each) is dict else each)
            if type(child) is dict or type(child) is list
        ]


def has_more_values(value: Json, most: int) -> bool:
    """Whether a value consists of more values than that, itself included."""
    stack: list[Json] = [value]
    count = 1
    while stack and count <= most:
        node = stack.pop()
        if isinstance(node, dict | list):
            count += len(node)
            stack.extend(node.values() if isinstance(node, dict) else node)
    return count > most


def decode_object(data: bytes, *, in_pieces: bool = False) -> JsonObject:
    value = decode(data, in_pieces=in_pieces)
    if not isinstance(value, dict):
        raise BadRequestError(f"expected a JSON object, got {type_name(value)}")
    return value


def decode_stored(data: bytes, *, in_pieces: bool = False) -> JsonObject:
    """The value of bytes that this package encoded itself."""
    is_cut = in_pieces and is_dense(data)
    value: JsonObject = decode_pieces(data, is_trusted=True) if is_cut else _decoder.decode(data)
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


def without_nulls(value: Json) -> Json:
    """Without the members of objects that are null, at any depth."""
    match value:
        case dict():
            return {key: without_nulls(each) for key, each in value.items() if each is not None}
        case list():
            return [without_nulls(each) for each in value]
    return value


def ordered_by_name(value: Json) -> Json:
    """With the members of objects in the order of their names, as Go writes maps, at any depth."""
    match value:
        case dict():
            return {name: ordered_by_name(value[name]) for name in sorted(value)}
        case list():
            return [ordered_by_name(each) for each in value]
    return value
