"""Resolves a plain YAML scalar as kubectl does: null, a boolean, a number, or the text itself.

The rules are go-yaml v2's, which keeps to YAML 1.1 for words and octal numbers and takes YAML 1.2's `0o`. Dates and
sexagesimal numbers are texts.
"""

from __future__ import annotations

from decimal import Decimal

from homeostat.objects.json import Json
from homeostat.objects.lazy_pattern import lazy_pattern

WORDS: dict[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
NOT_NUMBERS = frozenset(sign + word for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")) | {
    ".nan",
    ".NaN",
    ".NAN",
}
_INTEGER = lazy_pattern(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = lazy_pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


def resolve(text: str) -> Json:
    """The value of a plain scalar. `NOT_NUMBERS` are not resolved: they have no JSON form."""
    if text in WORDS:
        return WORDS[text]
    return _number(text) if text[0] in "0123456789+-." else text


def _number(text: str) -> Json:
    """The number that a plain text is, or the text."""
    plain = text.replace("_", "") if "_" in text else text
    found = _INTEGER.fullmatch(plain) if len(plain) < 70 else None
    if found:
        value = _integer(*found.groups())
        if -(2**63) <= value < 2**64:
            return value
    if not _FLOAT.fullmatch(plain):
        return text
    number = float(plain)
    if number in (float("inf"), float("-inf")):
        return text
    # As Go prints it into the JSON between: 1e3 is 1000, 1e21 stays a float.
    return int(Decimal(repr(number))) if number.is_integer() and abs(number) < 1e21 else number


def _integer(sign: str, hexadecimal: str, binary: str, octal: str, decimal: str) -> int:
    for digits, base in ((hexadecimal, 16), (binary, 2), (octal, 8), (decimal, 10)):
        if digits is not None:
            return int(sign + digits, base)
    raise AssertionError("a number of no base")
