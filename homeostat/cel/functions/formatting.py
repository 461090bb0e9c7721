"""`'%s of %d'.format([a, b])` and `strings.quote`."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isinf, isnan
from typing import Any

from homeostat.cel.errors import EvaluationError
from homeostat.cel.functions.numerals import double_text
from homeostat.cel.meter import Meter, spend
from homeostat.cel.timestamps import Duration, Timestamp
from homeostat.cel.values import TypeValue, Uint, type_name

MAX_PRECISION = 100
"""Digits after the point; more would make long text from little."""

_CLAUSE = re.compile(r"%(?:%|(?:\.(\d{1,9}))?(.?))", re.DOTALL)
_QUOTED = {
    7: "\\a",
    8: "\\b",
    9: "\\t",
    10: "\\n",
    11: "\\v",
    12: "\\f",
    13: "\\r",
    34: '\\"',
    92: "\\\\",
}


def quote(text: str) -> str:
    """The text as a literal in double quotes."""
    return f'"{text.translate(_QUOTED)}"'


def format_text(meter: Meter, template: str, values: list[Any]) -> str:
    """The template with values in it. What they add costs as it is made."""
    count = 0

    def clause(found: re.Match[str]) -> str:
        nonlocal count
        if found[0] == "%%":
            return "%"
        if count >= len(values):
            raise EvaluationError(f"index {count} out of range")
        value = values[count]
        count += 1
        precision = None if found[1] is None else int(found[1])
        if precision is not None and precision > MAX_PRECISION:
            raise EvaluationError(f"precision {precision} exceeds the limit of {MAX_PRECISION}")
        if found[2] == "s":
            return text_of(value, meter)
        formatter = _VERBS.get(found[2])
        if formatter is None:
            raise EvaluationError(f'unrecognized formatting clause "{found[2]}"')
        if isinstance(value, (str, bytes)):
            spend(meter, len(value) // 5)
        return formatter(value, precision)

    return _CLAUSE.sub(clause, template)


def text_of(value: Any, meter: Meter) -> str:
    """A value as `%s` shows it."""
    match value:
        case str():
            spend(meter, len(value) // 10 + 1)
            return value
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return _double_words(value) or double_text(value)
        case bytes():
            spend(meter, len(value) // 10 + 1)
            return value.decode(errors="replace")
        case list():
            spend(meter, len(value) + 1)
            return _paid(f"[{', '.join(text_of(item, meter) for item in value)}]", meter)
        case dict():
            spend(meter, len(value) + 1)
            shown = sorted((text_of(key, meter), text_of(item, meter)) for key, item in value.items())
            return _paid("{" + ", ".join(f"{key}: {item}" for key, item in shown) + "}", meter)
        case TypeValue():
            return value.name
        case int() | Timestamp() | Duration():
            return str(value)
        case _:
            raise EvaluationError(f"string clause can not be used on {type_name(value)}")


def _paid(text: str, meter: Meter) -> str:
    """A container inside containers is copied into each of them."""
    spend(meter, len(text) // 10)
    return text


def _double_words(value: float) -> str | None:
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return None


def _decimal(value: Any, _: int | None) -> str:
    if type(value) in (int, Uint):
        return str(int(value))
    if type(value) is float:
        return _double_words(value) or double_text(value)
    raise EvaluationError(f"decimal clause can only be used on integers, was given {type_name(value)}")


def _number(value: Any, clause: str) -> float:
    if type(value) in (int, Uint, float):
        return float(value)
    raise EvaluationError(f"{clause} clause can only be used on doubles, was given {type_name(value)}")


def _fixed(value: Any, precision: int | None) -> str:
    number = _number(value, "fixed-point")
    return _double_words(number) or f"{number:.{6 if precision is None else precision}f}"


def _scientific(value: Any, precision: int | None) -> str:
    number = _number(value, "scientific")
    return _double_words(number) or f"{number:.{6 if precision is None else precision}e}"


def _binary(value: Any, _: int | None) -> str:
    if type(value) in (int, Uint, bool):
        return f"{int(value):b}"
    raise EvaluationError(f"only integers and bools can be formatted as binary, was given {type_name(value)}")


def _octal(value: Any, _: int | None) -> str:
    if type(value) in (int, Uint):
        return f"{int(value):o}"
    raise EvaluationError(f"octal clause can only be used on integers, was given {type_name(value)}")


def _hexadecimal(value: Any, _: int | None) -> str:
    if type(value) in (int, Uint):
        return f"{int(value):x}"
    if isinstance(value, str | bytes):
        return (value.encode() if isinstance(value, str) else value).hex()
    raise EvaluationError(f"only integers, strings and bytes can be formatted as hex, was given {type_name(value)}")


_VERBS: dict[str, Callable[[Any, int | None], str]] = {
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "o": _octal,
    "x": _hexadecimal,
    "X": lambda value, precision: _hexadecimal(value, precision).upper(),
}
