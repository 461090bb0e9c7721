"""Equality and `+` of lists with list type `set` or `map`: their order does not count.

Of two sets, `+` appends what the first does not hold; of two keyed lists, items of the second replace items of the
first with the same keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from homeostat.cel.meter import Meter, comparison_cost, spend
from homeostat.cel.types import BOOL, INT, STRING, ListType, Type
from homeostat.cel.values import contains, equal

_PLAIN = frozenset({BOOL, INT, STRING})
_COMPARED_AT_ONCE = 1000

Equality = Callable[[Any, Any, Meter], bool]
Merge = Callable[[list[Any], list[Any], Meter], list[Any]]


def equality_of(left: Type, right: Type) -> Equality:
    """The equality function for values of two comparable types."""
    for each in (left, right):
        if isinstance(each, ListType) and each.list_type == "set":
            return _same_set
        if isinstance(each, ListType) and each.list_type == "map":
            keys = each.map_keys
            return lambda first, second, meter: _same_keyed(first, second, keys, meter)
    return _same_plain if left == right and _is_plain(left) else equal


def _is_plain(type_: Type) -> bool:
    """Whether Python's own equality is the language's: no numbers of several types, no NaN, nothing nested."""
    return isinstance(type_, ListType) and type_.element in _PLAIN


def _same_plain(first: Any, second: Any, meter: Meter) -> bool:
    """Python compares many items in a moment, but the cost of long texts among them is counted first."""
    if type(first) is not list or type(second) is not list:
        return equal(first, second, meter)
    if len(first) != len(second):
        return False
    spend(meter, len(first) // 10)
    for start in range(0, len(first), _COMPARED_AT_ONCE):
        part = first[start : start + _COMPARED_AT_ONCE]
        spend(meter, comparison_cost(part))
        if part != second[start : start + _COMPARED_AT_ONCE]:
            return False
    return True


def merge_of(left: Type) -> Merge | None:
    """The `+` of a list type; None where it is plain concatenation."""
    if not isinstance(left, ListType) or left.list_type == "atomic":
        return None
    if left.list_type == "set":
        return _united
    keys = left.map_keys
    return lambda first, second, _: list((_keyed(first, keys) | _keyed(second, keys)).values())


def _united(first: list[Any], second: list[Any], meter: Meter) -> list[Any]:
    if _are_texts(first) and _are_texts(second):
        spend(meter, comparison_cost(first) + comparison_cost(second))
        known = set(first)
        return first + [item for item in second if item not in known]
    spend(meter, len(first) * len(second))
    return first + [item for item in second if not contains(first, item, meter)]


def _are_texts(items: list[Any]) -> bool:
    return set(map(type, items)) <= {str}


def _same_set(first: Any, second: Any, meter: Meter) -> bool:
    if type(first) is not list or type(second) is not list:
        return equal(first, second, meter)
    if len(first) != len(second):
        return False
    if _are_texts(first) and _are_texts(second):
        spend(meter, len(first) + comparison_cost(first) + comparison_cost(second))
        return set(first) <= set(second)
    spend(meter, len(first) * len(second))
    return all(contains(second, item, meter) for item in first)


def _same_keyed(first: Any, second: Any, keys: tuple[str, ...], meter: Meter) -> bool:
    if type(first) is not list or type(second) is not list or len(first) != len(second):
        return equal(first, second, meter)
    spend(meter, len(first))
    others = _keyed(second, keys)
    return all(name in others and equal(item, others[name], meter) for name, item in _keyed(first, keys).items())


def _keyed(items: list[Any], keys: tuple[str, ...]) -> dict[tuple[Any, ...], Any]:
    return {tuple((type(item.get(key)), item.get(key)) for key in keys): item for item in items}
