"""Fast code for operators whose operand types are known.

All other operators are called through their overloads like any function.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from homeostat.cel.compile import calls
from homeostat.cel.compile.frame import Code, Frame
from homeostat.cel.compile.list_types import Merge, equality_of, merge_of
from homeostat.cel.compile.scope import Scope
from homeostat.cel.errors import EvaluationError, no_such_key
from homeostat.cel.functions.operations import index_any
from homeostat.cel.meter import COMPARED_FREE, TEXTS, spend
from homeostat.cel.regex import compile_pattern
from homeostat.cel.syntax.tree import Call, Constant, ListNode, Node
from homeostat.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    ListType,
    MapType,
)
from homeostat.cel.values import INT_MAX, INT_MIN

_PLAIN = frozenset({BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION})
"""Types whose values Python compares as CEL does."""
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
    "_==_": operator.eq,
    "_!=_": operator.ne,
}
_MATCHING = frozenset({"matches", "find", "findAll"})
_PATTERN_COST, _WEIGHT_COST = 2000, 10
_EQUALITIES = frozenset({"_==_", "_!=_"})


def specialised(scope: Scope, node: Call, operands: Sequence[Node], codes: Sequence[Code]) -> Code | None:
    """Code for an operator of these operands; None if a call is as good."""
    function = node.function
    if function in _COMPARISONS:
        return _comparison(function, operands, codes)
    if function == "!_" and operands[0].type == BOOL:
        inner = codes[0]
        return lambda frame: not inner(frame)
    if function in _INT_ARITHMETIC and all(each.type == INT for each in operands) and len(operands) == 2:
        return _INT_ARITHMETIC[function](*codes)
    if function == "_+_" and all(each.type == DOUBLE for each in operands):
        left, right = codes
        return lambda frame: left(frame) + right(frame)
    if function == "_+_" and (merge := merge_of(operands[0].type)) is not None:
        return _merge(merge, *codes)
    if function in _MATCHING and not isinstance(operands[1], Constant):
        return calls.call(node, operands, [codes[0], _made_pattern(scope, codes[1]), *codes[2:]])
    if function == "@in":
        return _membership(operands, codes)
    if function == "_[_]":
        return _index(operands, codes)
    return None


def _comparison(function: str, operands: Sequence[Node], codes: Sequence[Code]) -> Code | None:
    left_type, right_type = (each.type for each in operands)
    is_same = left_type == right_type and left_type in _PLAIN
    if not is_same:
        return _container_equality(function, operands, codes) if function in _EQUALITIES else None
    left, right = codes
    second = operands[1]
    if isinstance(second, Constant):
        return _WITH_CONSTANT[function](left, second.value)
    if left_type in (STRING, BYTES):
        return _text_comparison(_COMPARISONS[function], left, right)
    return _WITH_CODE[function](left, right)


def _text_comparison(compare: Callable[[Any, Any], bool], left: Code, right: Code) -> Code:
    def run(frame: Frame) -> bool:
        first, second = left(frame), right(frame)
        if type(first) in TEXTS and type(second) in TEXTS and len(first) > COMPARED_FREE < len(second):
            spend(frame, min(len(first), len(second)) // COMPARED_FREE)
        return compare(first, second)

    return run


def _less(left: Code, right: Code) -> Code:
    return lambda frame: left(frame) < right(frame)


def _less_equal(left: Code, right: Code) -> Code:
    return lambda frame: left(frame) <= right(frame)


def _greater(left: Code, right: Code) -> Code:
    return lambda frame: left(frame) > right(frame)


def _greater_equal(left: Code, right: Code) -> Code:
    return lambda frame: left(frame) >= right(frame)


def _equals(left: Code, right: Code) -> Code:
    return lambda frame: left(frame) == right(frame)


def _differs(left: Code, right: Code) -> Code:
    return lambda frame: left(frame) != right(frame)


_WITH_CODE: dict[str, Callable[[Code, Code], Code]] = {
    "_<_": _less,
    "_<=_": _less_equal,
    "_>_": _greater,
    "_>=_": _greater_equal,
    "_==_": _equals,
    "_!=_": _differs,
}
_WITH_CONSTANT: dict[str, Callable[[Code, Any], Code]] = {
    "_<_": lambda left, value: lambda frame: left(frame) < value,
    "_<=_": lambda left, value: lambda frame: left(frame) <= value,
    "_>_": lambda left, value: lambda frame: left(frame) > value,
    "_>=_": lambda left, value: lambda frame: left(frame) >= value,
    "_==_": lambda left, value: lambda frame: left(frame) == value,
    "_!=_": lambda left, value: lambda frame: left(frame) != value,
}


def _container_equality(function: str, operands: Sequence[Node], codes: Sequence[Code]) -> Code:
    left, right = codes
    wanted = function == "_==_"
    same = equality_of(operands[0].type, operands[1].type)
    return lambda frame: same(left(frame), right(frame), frame) is wanted


def _add(left: Code, right: Code) -> Code:
    def run(frame: Frame) -> int:
        value: int = left(frame) + right(frame)
        if INT_MIN <= value <= INT_MAX:
            return value
        raise EvaluationError("integer overflow")

    return run


def _subtract(left: Code, right: Code) -> Code:
    def run(frame: Frame) -> int:
        value: int = left(frame) - right(frame)
        if INT_MIN <= value <= INT_MAX:
            return value
        raise EvaluationError("integer overflow")

    return run


def _multiply(left: Code, right: Code) -> Code:
    def run(frame: Frame) -> int:
        value: int = left(frame) * right(frame)
        if INT_MIN <= value <= INT_MAX:
            return value
        raise EvaluationError("integer overflow")

    return run


_INT_ARITHMETIC: dict[str, Callable[..., Code]] = {"_+_": _add, "_-_": _subtract, "_*_": _multiply}


def _merge(merge: Merge, left: Code, right: Code) -> Code:
    def run(frame: Frame) -> list[Any]:
        first, second = left(frame), right(frame)
        spend(frame, len(first) + len(second))
        return merge(first, second, frame)

    return run


def _made_pattern(scope: Scope, code: Code) -> Code:
    """The pattern of a match that is no literal: each that an evaluation has not met here before may be compiled."""
    (slot,) = scope.open(("",))
    scope.close(("",))

    def run(frame: Frame) -> Any:
        pattern = code(frame)
        met = frame[slot]
        if met is None:
            met = frame[slot] = set()
        if type(pattern) is str and pattern not in met:
            met.add(pattern)
            spend(frame, _PATTERN_COST + 4 * len(pattern))
            spend(frame, _WEIGHT_COST * compile_pattern(pattern).weight)
        return pattern

    return run


def _membership(operands: Sequence[Node], codes: Sequence[Code]) -> Code | None:
    value, container = operands
    value_code, container_code = codes
    if value.type != STRING:
        return None
    if isinstance(container, ListNode) and all(
        type(getattr(each, "value", None)) is str for each in container.elements
    ):
        known = frozenset(each.value for each in container.elements if isinstance(each, Constant))
        if not container.optionals and len(known) > 0:
            return lambda frame: value_code(frame) in known
    if isinstance(container.type, MapType):
        return lambda frame: value_code(frame) in container_code(frame)
    return _string_in_list(value_code, container_code) if isinstance(container.type, ListType) else None


def _string_in_list(value_code: Code, container_code: Code) -> Code:
    def run(frame: Frame) -> bool:
        value, items = value_code(frame), container_code(frame)
        length = len(value) if type(value) is str else 0
        spend(frame, len(items) * (1 + length // COMPARED_FREE))
        return value in items

    return run


def _index(operands: Sequence[Node], codes: Sequence[Code]) -> Code | None:
    container, key = operands
    if DYN in (container.type, key.type):
        values, wanted = codes
        return lambda frame: index_any(values(frame), wanted(frame), frame)
    if isinstance(container.type, MapType) and key.type == STRING and container.type.key == STRING:
        return _key(*codes)
    if isinstance(container.type, ListType) and key.type == INT:
        return _position(*codes)
    return None


def _key(container: Code, key: Code) -> Code:
    def run(frame: Frame) -> Any:
        values, wanted = container(frame), key(frame)
        try:
            return values[wanted]
        except KeyError:
            raise no_such_key(wanted) from None

    return run


def _position(container: Code, key: Code) -> Code:
    def run(frame: Frame) -> Any:
        items, index = container(frame), key(frame)
        if 0 <= index < len(items):
            return items[index]
        raise EvaluationError(f"index out of bounds: {index}")

    return run
