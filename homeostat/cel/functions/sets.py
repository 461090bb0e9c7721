"""Lists taken as sets: `sets.contains`, `sets.equivalent`, `sets.intersects`."""

from __future__ import annotations

from typing import Any

from homeostat.cel.meter import Meter
from homeostat.cel.registry import Overload, function
from homeostat.cel.values import contains


def _contains(meter: Meter, items: list[Any], wanted: list[Any]) -> bool:
    return all(contains(items, each, meter) for each in wanted)


def _equivalent(meter: Meter, left: list[Any], right: list[Any]) -> bool:
    return _contains(meter, left, right) and _contains(meter, right, left)


def _intersects(meter: Meter, left: list[Any], right: list[Any]) -> bool:
    return any(contains(left, each, meter) for each in right)


def _product(left: list[Any], right: list[Any]) -> int:
    return len(left) * len(right)


SETS: tuple[Overload, ...] = (
    function("sets.contains(list(A), list(A)) -> bool", _contains, _product, is_metered=True),
    function(
        "sets.equivalent(list(A), list(A)) -> bool",
        _equivalent,
        lambda one, two: 2 * _product(one, two),
        is_metered=True,
    ),
    function("sets.intersects(list(A), list(A)) -> bool", _intersects, _product, is_metered=True),
)
