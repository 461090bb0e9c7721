"""Function calls: directly if the checker found one overload, otherwise chosen by the classes of the operands.

Overloads whose parameters have the same Python classes (`list(int)` and `list(string)`) share an implementation, so
classes are enough to choose among the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from homeostat.cel.compile.coercion import coercion
from homeostat.cel.compile.frame import Code, Frame
from homeostat.cel.errors import NoSuchOverloadError
from homeostat.cel.meter import spend
from homeostat.cel.registry import Cost, Overload
from homeostat.cel.syntax.tree import Call, Node
from homeostat.cel.timestamps import Duration, Timestamp
from homeostat.cel.types import DYN, ObjectType, OpaqueType, ParamType, Type
from homeostat.cel.values import Optional, TypeValue, Uint

_CLASSES: dict[str, type] = {
    "bool": bool,
    "int": int,
    "uint": Uint,
    "double": float,
    "string": str,
    "bytes": bytes,
    "timestamp": Timestamp,
    "duration": Duration,
    "null": type(None),
    "list": list,
    "map": dict,
    "optional_type": Optional,
    "type": TypeValue,
}


def accepts(type_: Type, class_: type) -> bool:
    """Whether a value of a Python class can be of a type, as far as its class shows."""
    if type_ == DYN or isinstance(type_, ParamType):
        return True
    if isinstance(type_, ObjectType):
        return class_ is dict
    if isinstance(type_, OpaqueType):
        return getattr(class_, "cel_type_name", None) == type_.name
    return _CLASSES[type_.name] is class_


def call(node: Call, operands: Sequence[Node], codes: Sequence[Code]) -> Code:
    overloads = node.overloads
    only = overloads[0]
    if len(overloads) == 1 and all(map(_is_certain, only.params, operands)):
        code = _direct(only, codes)
    else:
        code = _dispatched(overloads, codes)
    if isinstance(only.result, ParamType) and (convert := coercion(node.type)) is not None:
        return lambda frame: convert(code(frame), frame)
    return code


def _is_certain(param: Type, operand: Node) -> bool:
    return operand.type != DYN or param == DYN or isinstance(param, ParamType)


def _direct(overload: Overload, codes: Sequence[Code]) -> Code:
    function, cost = overload.call, overload.cost
    if overload.is_metered:
        return _metered(function, cost or _free, codes)
    if cost is not None:
        return _charged(function, cost, codes)
    if len(codes) == 1:
        (first,) = codes
        return lambda frame: function(first(frame))
    if len(codes) == 2:
        first, second = codes
        return lambda frame: function(first(frame), second(frame))
    return lambda frame: function(*[code(frame) for code in codes])


def _charged(function: Callable[..., Any], cost: Cost, codes: Sequence[Code]) -> Code:
    def run(frame: Frame) -> Any:
        values = [code(frame) for code in codes]
        spend(frame, cost(*values))
        return function(*values)

    return run


def _metered(function: Callable[..., Any], cost: Cost, codes: Sequence[Code]) -> Code:
    def run(frame: Frame) -> Any:
        values = [code(frame) for code in codes]
        spend(frame, cost(*values))
        return function(frame, *values)

    return run


def _free(*_: Any) -> int:
    return 0


def _dispatched(overloads: tuple[Overload, ...], codes: Sequence[Code]) -> Code:
    known: dict[tuple[type, ...], Overload] = {}

    def run(frame: Frame) -> Any:
        values = [code(frame) for code in codes]
        classes = tuple(map(type, values))
        overload = known.get(classes)
        if overload is None:
            overload = known[classes] = _choose(overloads, classes)
        if overload.cost is not None:
            spend(frame, overload.cost(*values))
        return overload.call(frame, *values) if overload.is_metered else overload.call(*values)

    return run


def _choose(overloads: tuple[Overload, ...], classes: tuple[type, ...]) -> Overload:
    for overload in overloads:
        if all(map(accepts, overload.params, classes)):
            return overload
    raise NoSuchOverloadError()
