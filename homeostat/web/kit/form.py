"""Bodies and queries of requests, read into structs. What does not match is a 422 that names the field and the problem.

msgspec reports a mismatch as a text only. So the value is compared with the struct once more, field by field, until the
smallest part that does not match is found: its path is the location, and msgspec's text about that part is the problem.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any, Final, NamedTuple, TypeVar, Union, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta

from homeostat.edge.request import Request
from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import Json, decode
from homeostat.web.kit.large_body import is_in_thread, read_large
from homeostat.web.kit.refusal import RefusalError, unprocessable

T = TypeVar("T", bound=msgspec.Struct)
_MOST_DIGITS: Final = 15
_MOST_COMPARED: Final = 10_000
"""Items of one list or mapping that are compared one by one; beyond them the problem is located at the whole."""
_PROBLEM: Final = "problem"

Name = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=63,
        pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z",
        extra={_PROBLEM: "a name consists of lower case letters, digits and dashes, at most 63 characters"},
    ),
]
"""The name of an object. `extra` holds the text for people, in place of the pattern."""


class _Mismatch(NamedTuple):
    path: tuple[str | int, ...]
    problem: str
    kind: str = "value_error"


async def read_body(request: Request, shape: type[T]) -> T:
    """The body must keep the limits that the control plane has for bodies. A large one is read in a thread."""
    return await read_large(request.body, lambda: _read(request, shape), user=f"body:{request.peer.address}")


def _read(request: Request, shape: type[T]) -> T:
    try:
        value: Json = decode(request.body or b"null", in_pieces=is_in_thread())
    except BadRequestError as error:
        raise unprocessable(("body",), error.message, "json_invalid") from error
    try:
        found: T = _decoder(shape).decode(request.body or b"null")
    except msgspec.ValidationError as error:
        raise _refusal("body", value, shape, error, strict=True) from error
    return found


def read_query(request: Request, shape: type[T]) -> T:
    """The last one of a repeated parameter counts. Unknown parameters are ignored."""
    value = dict(parse_qsl(request.query))
    try:
        return msgspec.convert(value, shape, strict=False)
    except msgspec.ValidationError as error:
        raise _refusal("query", value, shape, error, strict=False) from error


def read_number(captured: Mapping[str, str], name: str) -> int:
    text = captured[name]
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise unprocessable(("path", name), "must be an integer", "int_parsing")
    return int(text)


@lru_cache(64)
def _decoder(shape: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(shape)


def _refusal(part: str, value: Any, shape: Any, error: msgspec.ValidationError, *, strict: bool) -> RefusalError:
    found = _mismatch(value, shape, (part,), strict=strict) or _Mismatch((part,), str(error))
    return unprocessable(found.path, found.problem, found.kind)


def _mismatch(value: Any, shape: Any, path: tuple[str | int, ...], *, strict: bool) -> _Mismatch | None:
    """The smallest part of the value that does not match, or None."""
    try:
        msgspec.convert(value, shape, strict=strict)
    except msgspec.ValidationError as error:
        for name, inner, inner_shape in _parts(value, shape):
            if inner is msgspec.UNSET:
                return _Mismatch((*path, name), "Field required", "missing")
            if (found := _mismatch(inner, inner_shape, (*path, name), strict=strict)) is not None:
                return found
        return _Mismatch(path, _text_for_people(value, shape) or str(error))
    return None


def _parts(value: Any, shape: Any) -> Iterator[tuple[str | int, Any, Any]]:
    """Name, value and type of each part; `UNSET` for a required field that is missing."""
    for each in _alternatives(shape):
        origin, arguments = get_origin(each) or each, get_args(each)
        if isinstance(value, dict) and isinstance(origin, type) and issubclass(origin, msgspec.Struct):
            for field in msgspec.structs.fields(origin):
                if field.required or field.encode_name in value:
                    yield field.encode_name, value.get(field.encode_name, msgspec.UNSET), field.type
        elif isinstance(value, dict) and origin is dict and arguments and len(value) <= _MOST_COMPARED:
            yield from ((name, inner, arguments[1]) for name, inner in value.items())
        elif isinstance(value, list) and origin in (list, tuple) and arguments and len(value) <= _MOST_COMPARED:
            yield from ((at, inner, arguments[0]) for at, inner in enumerate(value))


def _alternatives(shape: Any) -> Iterator[Any]:
    """The types that a type allows, without annotations."""
    if get_origin(shape) is Annotated:
        yield from _alternatives(get_args(shape)[0])
    elif get_origin(shape) in (Union, types.UnionType):
        for each in get_args(shape):
            yield from _alternatives(each)
    else:
        yield shape


def _text_for_people(value: Any, shape: Any) -> str:
    if get_origin(shape) is not Annotated or not isinstance(value, str):
        return ""
    metas = (each for each in get_args(shape)[1:] if isinstance(each, Meta))
    return next((str(each.extra[_PROBLEM]) for each in metas if each.extra and _PROBLEM in each.extra), "")
