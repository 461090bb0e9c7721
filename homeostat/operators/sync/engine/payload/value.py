"""The normal form of structured values: text keys, 64-bit integers, finite numbers, bounded depth. Pure.

Two values are equal as JSON has them: numbers by value, and a boolean is no number.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import Final

from homeostat.objects.json import MAX_CONTAINERS, Json
from homeostat.operators.sync.engine.errors import ValidationError

MAX_DEPTH: Final = 256
_LEAST, _MOST = -(2**63), 2**63 - 1


def check(value: Json, *, most_text: float = inf, most_values: float = inf) -> Json:
    """The value itself; `ValidationError` if it has no normal form, or more than so many characters or values."""
    stack, count = [(value, 0)], 0
    while stack:
        each, depth = stack.pop()
        kind = type(each)
        if kind is str:
            most_text -= len(each)
            if most_text < 0:
                raise ValidationError("the texts of the payload are too long with all aliases expanded")
            continue
        if kind is bool or each is None:
            continue
        if kind is int:
            if not _LEAST <= each <= _MOST:
                raise ValidationError("an integer is out of range; expected a number of 64 bits")
        elif kind is float:
            if not isfinite(each):
                raise ValidationError("a number is not finite; JSON has no such number")
        elif kind is dict or kind is list:
            count += 1
            if depth >= MAX_DEPTH or count > MAX_CONTAINERS:
                raise ValidationError(
                    f"the payload is nested more than {MAX_DEPTH} levels deep or has more than {MAX_CONTAINERS} parts"
                )
            most_values -= len(each)
            if most_values < 0:
                raise ValidationError("the payload has too many values with all aliases expanded")
            if kind is dict:
                if not all(type(key) is str for key in each):
                    raise ValidationError("a key is not a string; expected string keys in every object")
                most_text -= sum(map(len, each))
                stack.extend((item, depth + 1) for item in each.values())
            else:
                stack.extend((item, depth + 1) for item in each)
        else:
            raise ValidationError(f"a value of type {kind.__name__} has no JSON form")
    return value


def is_same(a: Json, b: Json) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(is_same(item, b[key]) for key, item in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_same, a, b))
    return bool(a == b)


def text_of(value: Json) -> str | None:
    """A scalar as text, as templates and identities show it; None for anything else."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(value)
        case float():
            return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
        case _:
            return None
