"""Kubernetes quantities: `500m`, `1.5Gi`, `12e6`.

A quantity is a whole number of nano-units and the family of suffixes it was written in. Finer values are rounded up
and larger ones capped, as Kubernetes does; `str` is the canonical form: no fraction and the largest suffix that loses
nothing. Quantities compare by amount, so `Quantity.parse("1000m") == Quantity.parse("1")`.
"""

from __future__ import annotations

import re
from functools import lru_cache, total_ordering
from typing import Literal

import msgspec

from homeostat.objects.lazy_pattern import lazy_pattern

Family = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

_NANO_POWER = 9
_NANO = 10**9
_CAP = (2**63 - 1) * _NANO
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_LARGEST_FIRST = tuple(reversed(_DECIMAL.items()))
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
MAX_LENGTH = 512
"""The most characters of a quantity. Python takes quadratic time to read a number of many digits."""
_MOST_SHOWN = 64
_FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_PARTS = lazy_pattern(r"([+-]?)(\d+(?:\.\d*)?|\.\d+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,3})?", re.ASCII)


class QuantityError(ValueError):
    """The text is not a quantity; `reason` says why without it."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(f"{reason}, got {text[:_MOST_SHOWN]!r}")
        self.reason = reason


@total_ordering
class Quantity(msgspec.Struct, frozen=True, eq=False):
    nanos: int
    family: Family = "DecimalSI"

    @staticmethod
    @lru_cache(maxsize=1024)
    def parse(text: str) -> Quantity:
        if len(text) > MAX_LENGTH:
            raise QuantityError(f"quantities must have at most {MAX_LENGTH} characters", text)
        found = _PARTS.fullmatch(text)
        if found is None:
            raise QuantityError(_FORM, text)
        sign, digits, suffix = found.groups(default="")
        factor, power, family = _scale_of(suffix)
        whole, _, part = digits.partition(".")
        number, power = int(whole + part) * factor, power + _NANO_POWER - len(part)
        nanos = min(number * 10**power if power >= 0 else -(-number // 10**-power), _CAP)
        return Quantity(-nanos if sign == "-" else nanos, family)

    def __str__(self) -> str:
        if not self.nanos:
            return "0"
        if self.family == "BinarySI" and abs(self.nanos) >= 1024 * _NANO and not self.nanos % _NANO:
            return _binary_text(self.nanos // _NANO)
        suffix, power = next(each for each in _LARGEST_FIRST if not self.nanos % 10 ** (each[1] + 9))
        number = self.nanos // 10 ** (power + 9)
        if self.family == "DecimalExponent":
            return f"{number}e{power}" if power else str(number)
        return f"{number}{suffix}"

    def __eq__(self, other: object) -> bool:
        return self.nanos == other.nanos if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: Quantity) -> bool:
        return self.nanos < other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __bool__(self) -> bool:
        return bool(self.nanos)

    def __neg__(self) -> Quantity:
        return Quantity(-self.nanos, self.family)

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.nanos + other.nanos, (self if self.nanos else other).family)

    def __sub__(self, other: Quantity) -> Quantity:
        return self + -other

    def __mul__(self, factor: int) -> Quantity:
        return Quantity(self.nanos * factor, self.family)

    @property
    def value(self) -> int:
        """The amount in whole units, rounded away from zero."""
        whole = -(-abs(self.nanos) // _NANO)
        return -whole if self.nanos < 0 else whole


def _scale_of(suffix: str) -> tuple[int, int, Family]:
    """A factor and a power of ten."""
    if suffix in _BINARY:
        return 1024 ** _BINARY[suffix], 0, "BinarySI"
    if suffix in _DECIMAL:
        return 1, _DECIMAL[suffix], "DecimalSI"
    return 1, int(suffix[1:]), "DecimalExponent"


def _binary_text(units: int) -> str:
    power = 0
    while power < len(_BINARY) and not units % 1024:
        units //= 1024
        power += 1
    return f"{units}{list(_BINARY)[power - 1] if power else ''}"
