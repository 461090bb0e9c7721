"""Equality and `+` of lists with list type `set` or `map`: their order does not count.

Of two sets, `+` appends what the first does not hold; of two keyed lists, items of the second replace items of the
first with the same keys.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from homeostat.cel.types import BOOL, DURATION, INT, STRING, TIMESTAMP, ListType, MapType, Type
from homeostat.cel.values import contains, equal

_PLAIN = frozenset({BOOL, INT, STRING, TIMESTAMP, DURATION})

Equality = Callable[[Any, Any], bool]
Merge = Callable[[list[Any], list[Any]], list[Any]]


def equality_of(left: Type, right: Type) -> Equality:
    """The equality function for values of two comparable types."""
    for each in (left, right):
        if isinstance(each, ListType) and each.list_type == "set":
            return _same_set
        if isinstance(each, ListType) and each.list_type == "map":
            keys = each.map_keys
            return lambda first, second: _same_keyed(first, second, keys)
    return operator.eq if left == right and _is_plain(left) else equal


def _is_plain(type_: Type) -> bool:
    """Whether Python's own equality is the language's: no numbers of several types, no NaN."""
    match type_:
        case ListType():
            return type_.list_type == "atomic" and _is_plain(type_.element)
        case MapType():
            return _is_plain(type_.value)
        case _:
            return type_ in _PLAIN


def merge_of(left: Type) -> Merge | None:
    """The `+` of a list type; None where it is plain concatenation."""
    if not isinstance(left, ListType) or left.list_type == "atomic":
        return None
    if left.list_type == "set":
        return lambda first, second: first + [item for item in second if not contains(first, item)]
    keys = left.map_keys
    return lambda first, second: list((_keyed(first, keys) | _keyed(second, keys)).values())


def _same_set(first: Any, second: Any) -> bool:
    if type(first) is not list or type(second) is not list:
        return equal(first, second)
    return len(first) == len(second) and all(contains(second, item) for item in first)


def _same_keyed(first: Any, second: Any, keys: tuple[str, ...]) -> bool:
    if type(first) is not list or type(second) is not list or len(first) != len(second):
        return equal(first, second)
    others = _keyed(second, keys)
    return all(name in others and equal(item, others[name]) for name, item in _keyed(first, keys).items())


def _keyed(items: list[Any], keys: tuple[str, ...]) -> dict[tuple[Any, ...], Any]:
    return {tuple((type(item.get(key)), item.get(key)) for key in keys): item for item in items}
