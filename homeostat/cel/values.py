"""Values that JSON does not have, and equality.

All other values are what a JSON decoder returns: `dict`, `list`, `str`, `int`, `float`, `bool`, `None`; and `bytes`. A
Python `int` is an int, `Uint` a uint, `float` a double. Values are immutable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from homeostat.cel.meter import COMPARED_FREE, Meter, spend

INT_MAX: Final = 2**63 - 1
INT_MIN: Final = -(2**63)
UINT_MAX: Final = 2**64 - 1


class Uint(int):
    """An unsigned 64-bit integer. Equal to the int of the same value."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Optional:
    """`optional.of(value)`; `NONE` is the one without a value."""

    value: Any
    has_value: bool = True


NONE: Final = Optional(None, False)


@dataclass(frozen=True, slots=True)
class TypeValue:
    """What `type(x)` gives: compares by name, so `type([1]) == list`."""

    name: str


class Opaque:
    """Base of host values: their class says their CEL type by `cel_type_name`."""

    __slots__ = ()
    cel_type_name = ""


class Struct(dict[str, Any]):
    """A value that an expression constructed as `Name{...}`."""

    __slots__ = ("name",)

    def __init__(self, name: str, members: dict[str, Any]) -> None:
        super().__init__(members)
        self.name = name


_CONTAINER_COST = 3
_EXACT: Final = 2**53
"""Up to here, Python finds what is equal to an int, and more: a bool too."""


def equal(left: Any, right: Any, meter: Meter) -> bool:
    """Equality across types: numbers by value, containers by their parts, nothing else equals anything of another type.

    Python's own `==` says that `True` is `1`, and that a list with a NaN equals itself. Ints and doubles are compared
    as doubles, so that great ints lose digits as they do in the reference implementations. Each container that is
    walked into, and each long text, costs.
    """
    kind = type(left)
    if kind is str:
        if type(right) is str and len(left) == len(right) > COMPARED_FREE:
            spend(meter, len(left) // COMPARED_FREE)
        return bool(left == right)
    if kind is list:
        if type(right) is not list or len(left) != len(right):
            return False
        spend(meter, len(left) // 10 + _CONTAINER_COST)
        return all(equal(mine, other, meter) for mine, other in zip(left, right, strict=True))
    if kind is dict:
        if type(right) is not dict or len(left) != len(right):
            return False
        spend(meter, len(left) // 10 + _CONTAINER_COST)
        return all(key in right and equal(value, right[key], meter) for key, value in left.items())
    if kind is bool or type(right) is bool:
        return left is right
    if kind is Optional:
        return type(right) is Optional and left.has_value == right.has_value and equal(left.value, right.value, meter)
    if kind is float and type(right) in (int, Uint):
        return bool(left == float(right))
    if type(right) is float and kind in (int, Uint):
        return float(left) == right
    return bool(left == right)


def contains(items: list[Any], value: Any, meter: Meter) -> bool:
    """Whether a list has an item. The caller has paid for a step an item."""
    return index_of(items, value, meter) >= 0


def index_of(items: list[Any], value: Any, meter: Meter) -> int:
    """The place of the first item that is equal; -1 if there is none. The caller has paid for a step an item."""
    kind = type(value)
    if kind is str:
        spend(meter, len(items) * (len(value) // COMPARED_FREE))
    elif kind is not int or abs(value) > _EXACT:
        spend(meter, len(items))
        return next((at for at, item in enumerate(items) if equal(item, value, meter)), -1)
    at = -1
    try:
        while True:
            at = items.index(value, at + 1)
            if equal(items[at], value, meter):
                return at
    except ValueError:
        return -1


_MISSING: Final = object()


def lookup(mapping: dict[Any, Any], key: Any, default: Any = _MISSING) -> Any:
    """The value at a key of any type; `default` or `KeyError` where there is none. `True` is no key `1`."""
    kind = type(key)
    if kind is str:
        found = mapping.get(key, _MISSING)
    elif kind is bool:
        found = next((value for each, value in mapping.items() if each is key), _MISSING)
    elif kind is int or kind is float or kind is Uint:
        found = mapping.get(key, _MISSING)
        if found is not _MISSING and key in (0, 1) and bool(key) in [each for each in mapping if type(each) is bool]:
            found = _MISSING
    else:
        found = _MISSING
    if found is not _MISSING:
        return found
    if default is _MISSING:
        raise KeyError(key)
    return default


def type_name(value: Any) -> str:
    kind = type(value)
    name = _TYPE_NAMES.get(kind)
    if name is None:
        name = getattr(kind, "cel_type_name", "dyn")
    return name


_TYPE_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
    Optional: "optional_type",
    TypeValue: "type",
}
