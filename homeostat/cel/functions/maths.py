"""The math extension. `math.greatest` and `math.least` take any number of numbers, or a list of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from homeostat.cel.errors import EvaluationError, NoSuchOverloadError
from homeostat.cel.functions.operations import checked_int, checked_uint
from homeostat.cel.registry import Overload, function
from homeostat.cel.values import UINT_MAX, Uint

_NUMBERS = ("int", "uint", "double")


def _extreme(name: str, choose: Callable[..., Any]) -> list[Overload]:
    def of_list(items: list[Any]) -> Any:
        if not items:
            raise EvaluationError(f"math.{name}(list) argument must not be empty")
        if not set(map(type, items)) <= {int, Uint, float}:
            raise NoSuchOverloadError()
        return choose(items)

    return [
        *(function(f"math.{name}({each}) -> {each}", lambda value: value) for each in _NUMBERS),
        *(
            function(f"math.{name}({one}, {two}) -> {one if one == two else 'dyn'}", lambda *both: choose(both))
            for one in _NUMBERS
            for two in _NUMBERS
        ),
        *(function(f"math.{name}(list({each})) -> {each}", of_list, len) for each in _NUMBERS),
    ]


def _double(compute: Callable[[float], float]) -> Callable[[float], float]:
    """Rounding functions leave what is not finite as it is."""
    return lambda value: float(compute(value)) if math.isfinite(value) else value


def _round(value: float) -> float:
    """Halves go away from zero."""
    return math.copysign(math.floor(abs(value) + 0.5) if abs(value) < 2**52 else abs(value), value)


def _sign(value: float) -> float:
    return value if value != value or value == 0 else math.copysign(1.0, value)


def _sqrt(value: float) -> float:
    return math.sqrt(value) if value >= 0 else math.nan


def _shift(value: int, count: int, *, is_left: bool) -> int:
    """On the 64 bits of the value; a right shift brings in zeroes, for negative ints too."""
    if count < 0:
        raise EvaluationError(f"math.bitShift{'Left' if is_left else 'Right'}() negative offset: {count}")
    if count > 63:
        return 0
    bits = value & UINT_MAX
    return (bits << count) & UINT_MAX if is_left else bits >> count


def _signed(bits: int) -> int:
    return bits - 2**64 if bits >= 2**63 else bits


def _bits(name: str, compute: Callable[[int, int], int]) -> list[Overload]:
    return [
        function(f"math.{name}(int, int) -> int", compute),
        function(f"math.{name}(uint, uint) -> uint", lambda one, two: Uint(compute(int(one), int(two)))),
    ]


MATHS: tuple[Overload, ...] = (
    *_extreme("greatest", max),
    *_extreme("least", min),
    function("math.ceil(double) -> double", _double(math.ceil)),
    function("math.floor(double) -> double", _double(math.floor)),
    function("math.trunc(double) -> double", _double(math.trunc)),
    function("math.round(double) -> double", _double(_round)),
    function("math.isNaN(double) -> bool", math.isnan),
    function("math.isInf(double) -> bool", math.isinf),
    function("math.isFinite(double) -> bool", math.isfinite),
    function("math.abs(int) -> int", lambda value: checked_int(abs(value))),
    function("math.abs(uint) -> uint", lambda value: value),
    function("math.abs(double) -> double", abs),
    function("math.sign(int) -> int", lambda value: (value > 0) - (value < 0)),
    function("math.sign(uint) -> uint", lambda value: checked_uint(value > 0)),
    function("math.sign(double) -> double", _sign),
    *(function(f"math.sqrt({each}) -> double", _sqrt) for each in _NUMBERS),
    *_bits("bitAnd", lambda one, two: one & two),
    *_bits("bitOr", lambda one, two: one | two),
    *_bits("bitXor", lambda one, two: one ^ two),
    function("math.bitNot(int) -> int", lambda value: ~value),
    function("math.bitNot(uint) -> uint", lambda value: Uint(UINT_MAX - value)),
    function("math.bitShiftLeft(int, int) -> int", lambda value, count: _signed(_shift(value, count, is_left=True))),
    function("math.bitShiftLeft(uint, int) -> uint", lambda value, count: Uint(_shift(value, count, is_left=True))),
    function("math.bitShiftRight(int, int) -> int", lambda value, count: _signed(_shift(value, count, is_left=False))),
    function("math.bitShiftRight(uint, int) -> uint", lambda value, count: Uint(_shift(value, count, is_left=False))),
)
