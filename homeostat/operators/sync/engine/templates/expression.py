"""The grammar that both kinds of templates share: text with `{{ expressions }}` in it. Pure.

An expression is a pointer (`/a/b`), a name (`a`, the same as `/a`), a double-quoted text, or a function with such
arguments and numbers. There are no attributes, loops or calls of anything else, so a hostile template can do nothing
but fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from homeostat.operators.sync.engine.errors import UnrenderedError, ValidationError

LONGEST: Final = 8192
"""Characters of a template."""
SLASH: Final = "%2F"
"""What stands for a slash inside of a path segment, in files and in addresses."""
ESCAPED: Final = "%252F"
"""What stands for `%2F` itself."""
_token = re.compile(r'\s*+(?:"((?>(?:[^"\\]|\\.)*))"|([^\s"]++))').match
_is_name = re.compile(r"\.?[A-Za-z_][\w.-]*").fullmatch
_is_number = re.compile(r"-?\d{1,9}").fullmatch


@dataclass(frozen=True, slots=True)
class Reference:
    """A pointer into the scope."""

    pointer: str


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Dot:
    """`.`: the payload as a whole, which only functions of its form accept."""


Argument = Reference | Dot | str | int
Piece = str | Reference | Call
Lookup = Callable[[str], str | None]
"""The text at a pointer; None if it is missing, blank or no scalar."""

# Name: the least and the largest number of arguments.
FUNCTIONS: Final = {
    "uppercase": (1, 1),
    "to_uppercase": (1, 1),
    "lowercase": (1, 1),
    "to_lowercase": (1, 1),
    "trim": (1, 1),
    "substring": (2, 3),
    "default": (2, 32),
    "segment": (1, 1),
}
FORM_FUNCTIONS: Final = frozenset({"payload_type", "payload_media_type", "payload_extension"})


@lru_cache(maxsize=4096)
def parse(text: str) -> tuple[Piece, ...]:
    if len(text) > LONGEST:
        raise ValidationError(f"a template has {len(text)} characters; at most {LONGEST} are allowed")
    pieces, rest = list[Piece](), text
    while rest:
        before, opening, after = rest.partition("{{")
        if "}}" in before and opening is not None:
            raise _malformed(text, '"}}" without "{{"')
        if before:
            pieces.append(before)
        if not opening:
            break
        inner, closing, rest = after.partition("}}")
        if not closing:
            raise _malformed(text, '"{{" is not closed')
        pieces.append(_expression(inner.strip(), text))
    return tuple(pieces)


def _expression(inner: str, text: str) -> Piece:
    arguments = list(_arguments(inner, text))
    if not arguments:
        raise _malformed(text, "an expression is empty")
    first = arguments[0]
    if len(arguments) == 1:
        if isinstance(first, Reference | str):
            return first
        raise _malformed(text, f'"{inner}" is not an expression')
    name = first.pointer[1:] if isinstance(first, Reference) else ""
    if name in FORM_FUNCTIONS:
        if arguments[1:] != [Dot()]:
            raise _malformed(text, f'{name} takes "."')
        return Call(name, (Dot(),))
    if name not in FUNCTIONS or not inner.startswith(name):
        raise _malformed(text, f'there is no function "{inner.split(maxsplit=1)[0]}"')
    least, most = FUNCTIONS[name]
    if not least <= len(arguments) - 1 <= most or Dot() in arguments:
        raise _malformed(text, f"{name} takes {least} to {most} values")
    if name == "substring" and not all(isinstance(each, int) for each in arguments[2:]):
        raise _malformed(text, "substring takes a value and numbers")
    return Call(name, tuple(arguments[1:]))


def _arguments(inner: str, text: str) -> Iterator[Argument]:
    at = 0
    while at < len(inner):
        found = _token(inner, at)
        if found is None:
            raise _malformed(text, "a quoted text is not closed")
        at = found.end()
        quoted, word = found[1], found[2]
        if quoted is not None:
            yield re.sub(r"\\(.)", r"\1", quoted)
        elif word == ".":
            yield Dot()
        elif word.startswith("/"):
            yield Reference(word)
        elif _is_number(word):
            yield int(word)
        elif _is_name(word):
            yield Reference("/" + word.removeprefix(".").replace(".", "/"))
        else:
            raise _malformed(text, f'"{word}" is neither a pointer nor a name')


def _malformed(text: str, problem: str) -> ValidationError:
    return ValidationError(f'template "{text[:200]}" is malformed: {problem}')


def pointers(pieces: tuple[Piece, ...]) -> list[str]:
    """Every pointer that the template refers to, in order."""
    found = list[str]()
    for each in pieces:
        for argument in each.arguments if isinstance(each, Call) else (each,):
            if isinstance(argument, Reference):
                found.append(argument.pointer)
    return found


def evaluate(piece: Reference | Call, lookup: Lookup) -> str:
    """The text of an expression; `UnrenderedError` names the pointer that has no value."""
    if isinstance(piece, Reference):
        return _value(piece, lookup)
    first = piece.arguments[0]
    match piece.function:
        case "uppercase" | "to_uppercase":
            return _value(first, lookup).upper()
        case "lowercase" | "to_lowercase":
            return _value(first, lookup).lower()
        case "trim":
            return _value(first, lookup).strip()
        case "substring":
            return _substring(_value(first, lookup), piece.arguments[1:])
        case "segment":
            return segment_of(_value(first, lookup))
        case "default":
            return _first(piece.arguments, lookup)
        case name:
            found = lookup(name)
            if found is None:
                raise UnrenderedError(f"{name} has no value here")
            return found


def segment_of(text: str) -> str:
    """A name as one segment of a path."""
    return text.replace(SLASH, ESCAPED).replace("/", SLASH)


def _value(argument: Argument, lookup: Lookup) -> str:
    if isinstance(argument, Reference):
        found = lookup(argument.pointer)
        if found is None:
            raise UnrenderedError(f"attribute {argument.pointer} is missing, blank or not a scalar")
        return found
    return str(argument)


def _substring(text: str, numbers: tuple[Argument, ...]) -> str:
    start, *rest = (each for each in numbers if isinstance(each, int))
    if not 0 <= start <= len(text) or (rest and rest[0] < 0):
        raise ValidationError(f"substring {start} is outside of a text of {len(text)} characters")
    return text[start : start + rest[0]] if rest else text[start:]


def _first(arguments: tuple[Argument, ...], lookup: Lookup) -> str:
    for each in arguments:
        found = lookup(each.pointer) if isinstance(each, Reference) else str(each)
        if found is not None and found.strip():
            return found
    names = ", ".join(each.pointer for each in arguments if isinstance(each, Reference))
    raise UnrenderedError(f"attributes {names} are all missing or blank")
