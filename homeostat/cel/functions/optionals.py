"""Optional values."""

from __future__ import annotations

from typing import Any

from homeostat.cel.errors import EvaluationError, NoSuchOverloadError
from homeostat.cel.registry import Overload, function, member
from homeostat.cel.values import NONE, Optional


def _of_non_zero(value: Any) -> Optional:
    """None for the zero of its type: `0`, `''`, `[]`, `{}`, `false`, `null`."""
    is_zero = (
        value is None or value is False or (isinstance(value, str | bytes | list | dict | int | float) and not value)
    )
    return NONE if is_zero else Optional(value)


def _value(optional: Optional) -> Any:
    if optional.has_value:
        return optional.value
    raise EvaluationError("optional.none() dereference")


def _unwrap(items: list[Any]) -> list[Any]:
    if any(type(item) is not Optional for item in items):
        raise NoSuchOverloadError()
    return [item.value for item in items if item.has_value]


OPTIONALS: tuple[Overload, ...] = (
    function("optional.of(A) -> optional(A)", Optional),
    function("optional.ofNonZeroValue(A) -> optional(A)", _of_non_zero),
    function("optional.none() -> optional(A)", lambda: NONE),
    function("optional.unwrap(list(optional(A))) -> list(A)", _unwrap, len),
    member("list(optional(A)).unwrapOpt() -> list(A)", _unwrap, len),
    member("optional(A).value() -> A", _value),
    member("optional(A).hasValue() -> bool", lambda optional: optional.has_value),
    member(
        "optional(A).or(optional(A)) -> optional(A)", lambda optional, other: optional if optional.has_value else other
    ),
    member("optional(A).orValue(A) -> A", lambda optional, other: optional.value if optional.has_value else other),
)
