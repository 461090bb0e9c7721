"""Functions by name, with their overloads: the checker chooses an overload and the compiler calls it.

An overload is declared by its signature as text, `string.charAt(int) -> string`, so that a library reads as a table.
A lower-case word is a type, a single capital a type variable, a dotted word an opaque type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from homeostat.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    ListType,
    MapType,
    OpaqueType,
    OptionalType,
    ParamType,
    Type,
    TypeType,
)

Cost = Callable[..., int]
"""The cost of a call beyond 1, from its arguments; it is charged before the call is made."""


@dataclass(frozen=True, slots=True)
class Overload:
    """One meaning of a function. `call` gets the values of the operands (the target first) and is pure.

    `result_size` bounds the size of the result from the sizes of the operands, for the estimate of cost; `estimate`
    gives the greatest cost from the same sizes, where `cost` looks at more than lengths. A metered call gets the meter
    before its operands and spends from it.
    """

    function: str
    is_member: bool
    params: tuple[Type, ...]
    result: Type
    call: Callable[..., Any]
    cost: Cost | None = None
    result_size: Callable[..., int] | None = None
    estimate: Callable[..., int] | None = None
    is_metered: bool = False


_SIMPLE = {each.name: each for each in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION, NULL, DYN)}


def function(signature: str, call: Callable[..., Any], cost: Cost | None = None, **sizes: Any) -> Overload:
    """A global function, possibly in a namespace: `math.abs(int) -> int`."""
    name, _, rest = signature.partition("(")
    params, result = _split_result(rest)
    return Overload(name, False, params, result, call, cost, **sizes)


def member(signature: str, call: Callable[..., Any], cost: Cost | None = None, **sizes: Any) -> Overload:
    """A function of a value: `list(int).sum() -> int`."""
    target, name, rest = _split_target(signature)
    params, result = _split_result(rest)
    return Overload(name, True, (target, *params), result, call, cost, **sizes)


def _split_target(signature: str) -> tuple[Type, str, str]:
    """`list(T).sum(...` or `kubernetes.URL.getHost(...`: the type ends where the last dot before the call is."""
    opening = signature.index("(")
    after = _closing(signature, opening) + 1
    if signature[after : after + 1] == ".":
        name, _, rest = signature[after + 1 :].partition("(")
        return parse_type(signature[:after]), name, rest
    target, _, name = signature[:opening].rpartition(".")
    return parse_type(target), name, signature[opening + 1 :]


def _closing(text: str, opening: int) -> int:
    depth = 0
    for index in range(opening, len(text)):
        depth += (text[index] == "(") - (text[index] == ")")
        if depth == 0:
            return index
    raise ValueError(f"a parenthesis is not closed: {text}")


def _split_result(rest: str) -> tuple[tuple[Type, ...], Type]:
    params, _, result = rest.rpartition(") -> ")
    return tuple(parse_type(each) for each in _split_commas(params)), parse_type(result)


def _split_commas(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


@lru_cache(maxsize=256)
def parse_type(text: str) -> Type:
    """The type that a signature's word stands for."""
    name, _, inner = text.partition("(")
    arguments = [parse_type(each) for each in _split_commas(inner[:-1])] if inner else []
    match name:
        case "list":
            return ListType(*arguments)
        case "map":
            return MapType(*arguments)
        case "optional":
            return OptionalType(*arguments)
        case "type":
            return TypeType(*arguments)
        case _ if name in _SIMPLE:
            return _SIMPLE[name]
        case _ if len(name) == 1 and name.isupper():
            return ParamType(name)
        case _:
            return OpaqueType(name)


Registry = Mapping[str, tuple[Overload, ...]]


def registry(overloads: Iterable[Overload]) -> dict[str, tuple[Overload, ...]]:
    found: dict[str, list[Overload]] = {}
    for overload in overloads:
        found.setdefault(overload.function, []).append(overload)
    return {name: tuple(each) for name, each in found.items()}
