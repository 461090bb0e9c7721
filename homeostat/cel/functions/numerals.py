"""Numbers as text, in Go's forms: no spaces, no underscores, the shortest digits that give the number back."""

from __future__ import annotations

import re
from decimal import Decimal
from math import inf, isinf, isnan, nan

from homeostat.cel.errors import EvaluationError, shown

_INT = re.compile(r"[-+]?\d{1,40}\Z", re.ASCII)
_UINT = re.compile(r"\d{1,40}\Z", re.ASCII)
_DOUBLE = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\Z", re.ASCII)
_WORDS = {"nan": nan, "inf": inf, "+inf": inf, "-inf": -inf, "infinity": inf, "+infinity": inf, "-infinity": -inf}


def parse_int(text: str, *, is_signed: bool = True) -> int:
    """An integer of any size; the caller checks the range."""
    if (_INT if is_signed else _UINT).match(text):
        return int(text)
    kind = "int" if is_signed else "uint"
    raise EvaluationError(f"type conversion error from 'string' to '{kind}': \"{shown(text)}\"")


def parse_double(text: str) -> float:
    if _DOUBLE.match(text):
        return float(text)
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    raise EvaluationError(f"type conversion error from 'string' to 'double': \"{shown(text)}\"")


def double_text(value: float) -> str:
    """As Go's `%g`: with an exponent below 1e-4 and from 1e6 on."""
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return repr(value).removesuffix(".0")
    digits = Decimal(repr(value)).normalize()
    sign = "-" if digits.is_signed() else ""
    first, *rest = (str(digit) for digit in digits.as_tuple().digits)
    exponent = digits.adjusted()
    fraction = "." + "".join(rest) if rest else ""
    return f"{sign}{first}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"
