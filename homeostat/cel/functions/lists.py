"""Lists: Kubernetes' functions (`isSorted`, `sum`, `min`, ...) and those of the language's list extension."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from homeostat.cel.check.estimate import MAX_REQUEST_SIZE
from homeostat.cel.errors import EvaluationError, NoSuchOverloadError
from homeostat.cel.functions.operations import checked_int, checked_uint
from homeostat.cel.meter import Meter, comparison_cost, spend
from homeostat.cel.registry import Overload, function, member
from homeostat.cel.timestamps import Duration, duration_of
from homeostat.cel.values import NONE, Optional, Uint, equal, index_of

MAX_RANGE = 1_000_000
"""The longest list that `lists.range` makes."""

_COMPARABLE = ("int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration")
_ZEROES: dict[str, Any] = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}


def _guarded(items: list[Any]) -> list[Any]:
    """The items; raises if they cannot be compared with each other."""
    kinds = set(map(type, items))
    if len(kinds) > 1 and not kinds <= {int, Uint, float}:
        raise NoSuchOverloadError()
    return items


def _is_sorted(items: list[Any]) -> bool:
    return all(left <= right for left, right in pairwise(_guarded(items)))


def _least(items: list[Any]) -> Any:
    if not items:
        raise EvaluationError("min called on empty list")
    return min(_guarded(items))


def _greatest(items: list[Any]) -> Any:
    if not items:
        raise EvaluationError("max called on empty list")
    return max(_guarded(items))


def _sum(zero: Any, items: list[Any]) -> Any:
    if not items:
        return zero
    kinds = set(map(type, _guarded(items)))
    if kinds == {int}:
        return checked_int(sum(items))
    if kinds == {Uint}:
        return checked_uint(sum(items))
    if kinds == {Duration}:
        return duration_of(sum(item.nanoseconds for item in items))
    if kinds <= {int, float}:
        return float(sum(items))
    raise NoSuchOverloadError()


def _index_of(meter: Meter, items: list[Any], value: Any) -> int:
    return index_of(items, value, meter)


def _last_index_of(meter: Meter, items: list[Any], value: Any) -> int:
    spend(meter, len(items))
    return next((index for index in range(len(items) - 1, -1, -1) if equal(items[index], value, meter)), -1)


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flatten(meter: Meter, items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    spend(meter, len(items) + 1)
    flat: list[Any] = []
    # Without recursion: a call that no longer fits into a block of the interpreter's stack takes 20 times as long.
    begun = [iter(items)]
    while begun:
        for item in begun[-1]:
            if type(item) is list and len(begun) <= depth:
                spend(meter, len(item) + 1)
                begun.append(iter(item))
                break
            flat.append(item)
        else:
            begun.pop()
    return flat


def _distinct(meter: Meter, items: list[Any]) -> list[Any]:
    if set(map(type, items)) == {str}:
        spend(meter, len(items) + comparison_cost(items))
        return list(dict.fromkeys(items))
    kept: list[Any] = []
    for item in items:
        spend(meter, 2 * len(kept) + 1)
        if not any(equal(item, other, meter) for other in kept):
            kept.append(item)
    return kept


def _range(count: int) -> list[int]:
    if not 0 <= count <= MAX_RANGE:
        raise EvaluationError(f"lists.range: {count} is not between 0 and {MAX_RANGE}")
    return list(range(count))


def _length(items: list[Any], *_: Any) -> int:
    return len(items)


def _compared(items: list[Any]) -> int:
    return len(items) + comparison_cost(items)


def _sort_cost(items: list[Any]) -> int:
    """Sorting cannot be interrupted, and compares an item with several others."""
    return _compared(items) * max(2, len(items).bit_length()) // 2


def _range_cost(count: int) -> int:
    """An item takes up more memory than a step of other functions makes."""
    return 4 * max(0, min(count, MAX_RANGE))


def _same(size: int, *_: int) -> int:
    return size


LISTS: tuple[Overload, ...] = (
    *(member(f"list({each}).isSorted() -> bool", _is_sorted, _compared, estimate=_same) for each in _COMPARABLE),
    *(member(f"list({each}).min() -> {each}", _least, _compared, estimate=_same) for each in _COMPARABLE),
    *(member(f"list({each}).max() -> {each}", _greatest, _compared, estimate=_same) for each in _COMPARABLE),
    *(
        member(f"list({each}).sum() -> {each}", lambda items, zero=zero: _sum(zero, items), _length)
        for each, zero in _ZEROES.items()
    ),
    member("list(A).indexOf(A) -> int", _index_of, _length, is_metered=True),
    member("list(A).lastIndexOf(A) -> int", _last_index_of, _length, is_metered=True),
    member("list(A).slice(int, int) -> list(A)", _slice, _length, result_size=_same),
    member("list(dyn).flatten() -> list(dyn)", _flatten, estimate=lambda *_: MAX_REQUEST_SIZE, is_metered=True),
    member("list(dyn).flatten(int) -> list(dyn)", _flatten, estimate=lambda *_: MAX_REQUEST_SIZE, is_metered=True),
    member(
        "list(A).distinct() -> list(A)",
        _distinct,
        result_size=_same,
        estimate=lambda size: size**2,
        is_metered=True,
    ),
    member("list(A).reverse() -> list(A)", lambda items: items[::-1], _length, result_size=_same),
    *(
        member(
            f"list({each}).sort() -> list({each})",
            lambda items: sorted(_guarded(items)),
            _sort_cost,
            result_size=_same,
            estimate=_same,
        )
        for each in _COMPARABLE
    ),
    member("list(A).first() -> optional(A)", lambda items: Optional(items[0]) if items else NONE),
    member("list(A).last() -> optional(A)", lambda items: Optional(items[-1]) if items else NONE),
    function("lists.range(int) -> list(int)", _range, _range_cost),
)
