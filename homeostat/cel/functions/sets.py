"""Lists taken as sets: `sets.contains`, `sets.equivalent`, `sets.intersects`."""

from __future__ import annotations

from typing import Any

from homeostat.cel.registry import Overload, function
from homeostat.cel.values import contains


def _contains(items: list[Any], wanted: list[Any]) -> bool:
    return all(contains(items, each) for each in wanted)


def _equivalent(left: list[Any], right: list[Any]) -> bool:
    return _contains(left, right) and _contains(right, left)


def _intersects(left: list[Any], right: list[Any]) -> bool:
    return any(contains(left, each) for each in right)


def _product(left: list[Any], right: list[Any]) -> int:
    return len(left) * len(right)


SETS: tuple[Overload, ...] = (
    function("sets.contains(list(A), list(A)) -> bool", _contains, _product),
    function("sets.equivalent(list(A), list(A)) -> bool", _equivalent, lambda one, two: 2 * _product(one, two)),
    function("sets.intersects(list(A), list(A)) -> bool", _intersects, _product),
)
