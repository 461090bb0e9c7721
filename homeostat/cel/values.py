"""Values that JSON does not have, and equality.

All other values are what a JSON decoder returns: `dict`, `list`, `str`, `int`, `float`, `bool`, `None`; and `bytes`. A
Python `int` is an int, `Uint` a uint, `float` a double. Values are immutable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

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


def equal(left: Any, right: Any) -> bool:
    """Equality across types: numbers by value, containers by their parts, nothing else equals anything of another type.

    Python's own `==` says that `True` is `1`, and that a list with a NaN equals itself. Ints and doubles are compared
    as doubles, so that great ints lose digits as they do in the reference implementations.
    """
    kind = type(left)
    if kind is list:
        return (
            type(right) is list
            and len(left) == len(right)
            and all(equal(mine, other) for mine, other in zip(left, right, strict=True))
        )
    if kind is dict:
        return (
            type(right) is dict
            and len(left) == len(right)
            and all(key in right and equal(value, right[key]) for key, value in left.items())
        )
    if kind is bool or type(right) is bool:
        return left is right
    if kind is Optional:
        return type(right) is Optional and left.has_value == right.has_value and equal(left.value, right.value)
    if kind is float and type(right) in (int, Uint):
        return bool(left == float(right))
    if type(right) is float and kind in (int, Uint):
        return float(left) == right
    return bool(left == right)


def contains(items: list[Any], value: Any) -> bool:
    kind = type(value)
    if kind is str:
        return value in items
    return any(equal(item, value) for item in items)


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
