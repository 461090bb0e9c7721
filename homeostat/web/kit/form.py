"""What a caller of the REST API sent, read into a struct; what does not fit is a 422 that names the field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeVar
from urllib.parse import parse_qsl

import msgspec

from homeostat.edge.request import Request
from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import decode
from homeostat.web.kit.refusal import RefusalError, unprocessable

T = TypeVar("T", bound=msgspec.Struct)
_at = re.compile(r"^(?P<told>.*) - at `\$(?P<path>.*)`$", re.DOTALL).match
_missing = re.compile(r"missing required field `(.*)`").search
_steps = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]").findall
_MOST_DIGITS = 15
_NO_NAME = "matching regex '^[a-z0-9]("


def read_body(request: Request, shape: type[T]) -> T:
    """Within the limits that the control plane has for bodies: what it would refuse is not worked on first."""
    try:
        decode(request.body or b"null")
    except BadRequestError as error:
        raise unprocessable(("body",), error.message, "json_invalid") from error
    try:
        found: T = _decoder(shape).decode(request.body or b"null")
    except msgspec.ValidationError as error:
        raise _misfit("body", str(error)) from error
    return found


def read_query(request: Request, shape: type[T]) -> T:
    """Of a parameter that is given twice the last one counts; one that nobody knows is passed over."""
    try:
        return msgspec.convert(dict(parse_qsl(request.query)), shape, strict=False)
    except msgspec.ValidationError as error:
        raise _misfit("query", str(error)) from error


def read_number(captured: Mapping[str, str], name: str) -> int:
    text = captured[name]
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise unprocessable(("path", name), "must be an integer", "int_parsing")
    return int(text)


@lru_cache(64)
def _decoder(shape: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(shape)


def _misfit(part: str, error: str) -> RefusalError:
    found = _at(error)
    told, path = (found["told"], found["path"]) if found else (error, "")
    steps: list[str | int] = [name or (int(at) if at.isdigit() else at) for name, at in _steps(path)]
    if missing := _missing(told):
        return unprocessable((part, *steps, missing[1]), "Field required", "missing")
    if _NO_NAME in told:
        told = "a name consists of lower case letters, digits and dashes, at most 63 characters"
    return unprocessable((part, *steps), told)
