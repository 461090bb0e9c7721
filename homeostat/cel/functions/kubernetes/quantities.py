"""Kubernetes' quantities: `quantity('1.5Gi')`, kept exactly."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf
from typing import Any

from homeostat.cel.errors import EvaluationError
from homeostat.cel.functions.kubernetes.parsing import parses
from homeostat.cel.registry import Overload, function, member
from homeostat.cel.values import INT_MAX, INT_MIN, Opaque

_QUANTITY = re.compile(
    r"([-+]?)(\d{1,100}\.?\d{0,100}|\.\d{1,100})(?:([numkMGTPE]|[KMGTPE]i)|[eE]([-+]?\d{1,3}))?\Z", re.ASCII
)
_SCALES: dict[str, Fraction] = {
    **{suffix: Fraction(10) ** (3 * power) for power, suffix in enumerate("num", start=-3)},
    **{suffix: Fraction(10) ** (3 * power) for power, suffix in enumerate("kMGTPE", start=1)},
    **{suffix + "i": Fraction(1024) ** power for power, suffix in enumerate("KMGTPE", start=1)},
}
_NANO = 10**9


@dataclass(frozen=True, slots=True)
class Quantity(Opaque):
    value: Fraction
    cel_type_name = "kubernetes.Quantity"


def parse_quantity(text: str) -> Quantity:
    """Digits below a billionth are rounded away from zero."""
    found = _QUANTITY.match(text)
    if found is None:
        raise EvaluationError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    sign, digits, suffix, exponent = found.groups()
    scale = _SCALES[suffix] if suffix else Fraction(10) ** int(exponent or 0)
    value = Fraction(ceil(Fraction(digits.removesuffix(".")) * scale * _NANO), _NANO)
    return Quantity(-value if sign == "-" else value)


def _is_integer(quantity: Quantity) -> bool:
    return quantity.value.denominator == 1 and INT_MIN <= quantity.value <= INT_MAX


def _as_integer(quantity: Quantity) -> int:
    if _is_integer(quantity):
        return int(quantity.value)
    raise EvaluationError("cannot convert value to integer")


def _as_float(quantity: Quantity) -> float:
    try:
        return float(quantity.value)
    except OverflowError:
        return inf if quantity.value > 0 else -inf


def _add(one: Quantity, two: Quantity) -> Quantity:
    return Quantity(one.value + two.value)


def _subtract(one: Quantity, two: Quantity) -> Quantity:
    return Quantity(one.value - two.value)


def _compare(one: Quantity, two: Quantity) -> int:
    return (one.value > two.value) - (one.value < two.value)


def _sign(quantity: Quantity) -> int:
    return (quantity.value > 0) - (quantity.value < 0)


def _tenth(text: Any) -> int:
    return len(text) // 10


QUANTITIES: tuple[Overload, ...] = (
    function("quantity(string) -> kubernetes.Quantity", parse_quantity, _tenth),
    function("isQuantity(string) -> bool", parses(parse_quantity), _tenth),
    function("sign(kubernetes.Quantity) -> int", _sign),
    member("kubernetes.Quantity.sign() -> int", _sign),
    member("kubernetes.Quantity.isInteger() -> bool", _is_integer),
    member("kubernetes.Quantity.asInteger() -> int", _as_integer),
    member("kubernetes.Quantity.asApproximateFloat() -> double", _as_float),
    member("kubernetes.Quantity.add(kubernetes.Quantity) -> kubernetes.Quantity", _add),
    member("kubernetes.Quantity.add(int) -> kubernetes.Quantity", lambda one, two: Quantity(one.value + two)),
    member("kubernetes.Quantity.sub(kubernetes.Quantity) -> kubernetes.Quantity", _subtract),
    member("kubernetes.Quantity.sub(int) -> kubernetes.Quantity", lambda one, two: Quantity(one.value - two)),
    member("kubernetes.Quantity.isLessThan(kubernetes.Quantity) -> bool", lambda one, two: one.value < two.value),
    member("kubernetes.Quantity.isGreaterThan(kubernetes.Quantity) -> bool", lambda one, two: one.value > two.value),
    member("kubernetes.Quantity.compareTo(kubernetes.Quantity) -> int", _compare),
)
