"""The operators as functions, for operands whose types are only known when evaluating."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import copysign, inf, nan
from typing import Any

from homeostat.cel.errors import EvaluationError, NoSuchOverloadError, no_such_key
from homeostat.cel.meter import COMPARED_FREE, Meter, spend
from homeostat.cel.registry import Overload, function
from homeostat.cel.timestamps import duration_of, timestamp_of
from homeostat.cel.values import INT_MAX, INT_MIN, NONE, UINT_MAX, Optional, Uint, contains, equal, lookup


def checked_int(value: int) -> int:
    if INT_MIN <= value <= INT_MAX:
        return value
    raise EvaluationError("integer overflow")


def checked_uint(value: int) -> Uint:
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise EvaluationError("unsigned integer overflow")


def _divide_int(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return checked_int(quotient if (left < 0) == (right < 0) else -quotient)


def _modulo_int(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("modulus by zero")
    if left == INT_MIN and right == -1:
        raise EvaluationError("integer overflow")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _divide_uint(left: int, right: int) -> Uint:
    if right == 0:
        raise EvaluationError("division by zero")
    return Uint(left // right)


def _modulo_uint(left: int, right: int) -> Uint:
    if right == 0:
        raise EvaluationError("modulus by zero")
    return Uint(left % right)


def _divide_double(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left != left or left == 0:
        return nan
    is_negative = (left < 0) != (copysign(1, right) < 0)
    return -inf if is_negative else inf


def _multiply_double(left: float, right: float) -> float:
    return left * right


def _index_list(items: list[Any], index: Any) -> Any:
    if type(index) is float:
        if index != int(index):
            raise EvaluationError("unsupported index value")
        index = int(index)
    if 0 <= index < len(items):
        return items[index]
    raise EvaluationError(f"index out of bounds: {index}")


def _index_map(container: dict[Any, Any], key: Any) -> Any:
    try:
        return lookup(container, key)
    except KeyError:
        raise no_such_key(key) from None


def index_any(container: Any, key: Any, meter: Meter) -> Any:
    """For containers or keys of unknown types: a list takes any whole number as an index."""
    if type(container) is list and type(key) in (int, Uint, float):
        return _index_list(container, key)
    if type(container) is dict:
        if type(key) is not str:
            spend(meter, _key_cost(container, key))
        return _index_map(container, key)
    if type(container) is Optional:
        return _index_optionally(container, key)
    raise NoSuchOverloadError()


def _index_optionally(container: Any, key: Any) -> Optional:
    if type(container) is Optional:
        if not container.has_value:
            return NONE
        container = container.value
    if type(container) is list:
        if type(key) not in (int, Uint):
            raise NoSuchOverloadError()
        return Optional(container[key]) if 0 <= key < len(container) else NONE
    if type(container) is not dict:
        raise NoSuchOverloadError()
    try:
        return Optional(lookup(container, key))
    except KeyError:
        return NONE


def _in_map(key: Any, container: dict[Any, Any]) -> bool:
    missing = object()
    return lookup(container, key, missing) is not missing


def _in_list(meter: Meter, value: Any, items: list[Any]) -> bool:
    return contains(items, value, meter)


def _key_cost(container: Any, key: Any) -> int:
    """A key that is a bool, or a number equal to one, is searched for: Python takes them for the same."""
    return len(container) if type(container) is dict and type(key) is not str and key in (0, 1) else 0


def _longer(left: Any, right: Any) -> int:
    return (len(left) + len(right)) // 10


def _added(left: int, right: int) -> int:
    return left + right


def _optional_key_cost(container: Any, key: Any) -> int:
    return _key_cost(container.value, key) if type(container) is Optional else 0


def _ordering_cost(left: Any, right: Any) -> int:
    return min(len(left), len(right)) // COMPARED_FREE


def _equal(meter: Meter, left: Any, right: Any) -> bool:
    return equal(left, right, meter)


def _differ(meter: Meter, left: Any, right: Any) -> bool:
    return not equal(left, right, meter)


def _joined_cost(left: list[Any], right: list[Any]) -> int:
    """A list doubles its length again and again for little, so each item costs, unlike a character."""
    return len(left) + len(right)


def _joined_estimate(left: int, right: int) -> int:
    """As Kubernetes estimates it."""
    return (left + right) // 10


def _mixed(compare: Callable[[float, float], bool]) -> Callable[[Any, Any], bool]:
    """Ints and doubles are compared as doubles."""
    return lambda left, right: compare(float(left), float(right))


def _lazy(*_: Any) -> Any:
    raise AssertionError("compiled by itself")


_ORDERED = ["bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration"]
_MIXED = [(left, right) for left in ("int", "uint", "double") for right in ("int", "uint", "double") if left != right]
_ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}

OPERATIONS: tuple[Overload, ...] = (
    function("_&&_(bool, bool) -> bool", _lazy),
    function("_||_(bool, bool) -> bool", _lazy),
    function("_?_:_(bool, A, A) -> A", _lazy),
    function("!_(bool) -> bool", operator.not_),
    function("-_(int) -> int", lambda value: checked_int(-value)),
    function("-_(double) -> double", operator.neg),
    function("_+_(int, int) -> int", lambda left, right: checked_int(left + right)),
    function("_+_(uint, uint) -> uint", lambda left, right: checked_uint(left + right)),
    function("_+_(double, double) -> double", operator.add),
    function("_+_(string, string) -> string", operator.add, _longer, result_size=_added),
    function("_+_(bytes, bytes) -> bytes", operator.add, _longer, result_size=_added),
    function(
        "_+_(list(A), list(A)) -> list(A)",
        operator.add,
        _joined_cost,
        result_size=_added,
        estimate=_joined_estimate,
    ),
    function(
        "_+_(timestamp, duration) -> timestamp",
        lambda left, right: timestamp_of(left.nanoseconds + right.nanoseconds),
    ),
    function(
        "_+_(duration, timestamp) -> timestamp",
        lambda left, right: timestamp_of(left.nanoseconds + right.nanoseconds),
    ),
    function(
        "_+_(duration, duration) -> duration",
        lambda left, right: duration_of(left.nanoseconds + right.nanoseconds),
    ),
    function("_-_(int, int) -> int", lambda left, right: checked_int(left - right)),
    function("_-_(uint, uint) -> uint", lambda left, right: checked_uint(left - right)),
    function("_-_(double, double) -> double", operator.sub),
    function(
        "_-_(timestamp, duration) -> timestamp",
        lambda left, right: timestamp_of(left.nanoseconds - right.nanoseconds),
    ),
    function(
        "_-_(timestamp, timestamp) -> duration",
        lambda left, right: duration_of(left.nanoseconds - right.nanoseconds),
    ),
    function(
        "_-_(duration, duration) -> duration",
        lambda left, right: duration_of(left.nanoseconds - right.nanoseconds),
    ),
    function("_*_(int, int) -> int", lambda left, right: checked_int(left * right)),
    function("_*_(uint, uint) -> uint", lambda left, right: checked_uint(left * right)),
    function("_*_(double, double) -> double", _multiply_double),
    function("_/_(int, int) -> int", _divide_int),
    function("_/_(uint, uint) -> uint", _divide_uint),
    function("_/_(double, double) -> double", _divide_double),
    function("_%_(int, int) -> int", _modulo_int),
    function("_%_(uint, uint) -> uint", _modulo_uint),
    function("_==_(A, A) -> bool", _equal, is_metered=True),
    function("_!=_(A, A) -> bool", _differ, is_metered=True),
    *(
        function(f"{name}({each}, {each}) -> bool", call, _ordering_cost if each in ("string", "bytes") else None)
        for name, call in _ORDERS.items()
        for each in _ORDERED
    ),
    *(
        function(f"{name}({one}, {two}) -> bool", _mixed(call) if "double" in (one, two) else call)
        for name, call in _ORDERS.items()
        for one, two in _MIXED
    ),
    function("@in(A, list(A)) -> bool", _in_list, lambda _, items: len(items), is_metered=True),
    function("@in(A, map(A, B)) -> bool", _in_map, lambda key, container: _key_cost(container, key)),
    function("_[_](list(A), int) -> A", _index_list),
    function("_[_](map(A, B), A) -> B", _index_map, _key_cost),
    function("_[_](optional(list(A)), int) -> optional(A)", _index_optionally),
    function("_[_](optional(map(A, B)), A) -> optional(B)", _index_optionally, _optional_key_cost),
    function("_[?_](list(A), int) -> optional(A)", _index_optionally),
    function("_[?_](map(A, B), A) -> optional(B)", _index_optionally, _key_cost),
    function("_[?_](optional(list(A)), int) -> optional(A)", _index_optionally),
    function("_[?_](optional(map(A, B)), A) -> optional(B)", _index_optionally, _optional_key_cost),
)
