"""The most that an expression can cost, from the greatest sizes that its variables' types allow.

Follows Kubernetes' estimator: sizes come from `maxLength`, `maxItems` and `maxProperties`; where a schema sets none,
from what fits into a request of 3 MiB. It differs in these points: only the upper bound is computed; the items of a
joined list are bounded together by a request's size; the size of `split`'s parts is taken as that of the whole; and
a function of Kubernetes that is not named there costs what it costs at run time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from homeostat.cel.check.cost import ITERATION_COSTS, own_cost
from homeostat.cel.syntax.tree import Bind, Call, Comprehension, Constant, Ident, ListNode, MapNode, Node, children
from homeostat.cel.types import (
    BOOL,
    BYTES,
    DURATION,
    DYN,
    STRING,
    TIMESTAMP,
    ListType,
    MapType,
    ObjectType,
    OpaqueType,
    Type,
)

MAX_REQUEST_SIZE = 3 * 1024 * 1024
MAX_COST = 2**64 - 1
_MAX_SIZE = 2**40
_COMPARED = frozenset({"_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"})


def size_limit(type_: Type) -> int:
    """The greatest size of a value of a type: characters, items or members."""
    if type_.max_size is not None:
        return type_.max_size
    match type_:
        case ListType():
            return MAX_REQUEST_SIZE // (_least_bytes(type_.element) + 1)
        case MapType():
            return MAX_REQUEST_SIZE // (_least_bytes(type_.value) + 4)
        case _ if type_ in (TIMESTAMP, DURATION):
            return 30
        case _ if type_ in (STRING, BYTES, DYN):
            return MAX_REQUEST_SIZE - 2
        case OpaqueType():
            return 16
        case _:
            return 1


def _least_bytes(type_: Type) -> int:
    """The least that a value takes in JSON."""
    match type_:
        case ObjectType():
            return 2 + sum(len(name) + 4 for name in type_.required)
        case ListType() | MapType():
            return 2
        case _ if type_ in (STRING, BYTES):
            return 2
        case _ if type_ == TIMESTAMP:
            return 22
        case _ if type_ == BOOL:
            return 4
        case _:
            return 1


def estimate(root: Node) -> int:
    """The upper bound of a checked expression's cost."""
    return min(_Estimator().cost(root), MAX_COST)


class _Estimator:
    def __init__(self) -> None:
        self.sizes: dict[Node, int] = {}
        self.bound: list[tuple[str, int | None]] = []

    def cost(self, node: Node) -> int:
        match node:
            case Comprehension():
                return self.loop(node)
            case Bind():
                return self.bind(node)
            case Call() if node.function == "_?_:_":
                condition, yes, no = (self.cost(each) for each in node.args)
                self.sizes[node] = max(self.size(node.args[1]), self.size(node.args[2]))
                return condition + max(yes, no)
            case Call():
                return sum(map(self.cost, children(node))) + self.call(node)
            case _:
                return own_cost(node) + sum(map(self.cost, children(node)))

    def size(self, node: Node) -> int:
        known = self.sizes.get(node)
        if known is not None:
            return known
        match node:
            case Constant(value=str() | bytes() as value):
                return len(value)
            case ListNode():
                return len(node.elements)
            case MapNode():
                return len(node.entries)
            case Ident():
                bound = next((size for name, size in reversed(self.bound) if name == node.name), None)
                return size_limit(node.type) if bound is None else bound
            case _:
                return size_limit(node.type)

    def loop(self, node: Comprehension) -> int:
        source = self.cost(node.source)
        count = self.size(node.source)
        shadowed = [(name, None) for name in node.variables]
        self.bound += shadowed
        round_cost = ITERATION_COSTS[node.kind] + self.cost(node.body)
        if node.test is not None:
            round_cost += self.cost(node.test)
        del self.bound[-len(shadowed) :]
        if node.kind in ("map", "filter", "transformList", "transformMap"):
            self.sizes[node] = count
        return source + own_cost(node) + count * round_cost

    def bind(self, node: Bind) -> int:
        value = self.cost(node.value)
        self.bound.append((node.name, self.size(node.value)))
        body = self.cost(node.body)
        self.sizes[node] = self.size(node.body)
        self.bound.pop()
        return own_cost(node) + value + body

    def call(self, node: Call) -> int:
        operands = node.operands()
        sizes = [min(self.size(each), _MAX_SIZE) for each in operands]
        if node.function in _COMPARED:
            return max(1, min(sizes) // 10)
        worst = 0
        for overload in node.overloads:
            if overload.result_size is not None:
                self.sizes[node] = max(self.sizes.get(node, 0), overload.result_size(*sizes))
            worst = max(worst, _call_cost(overload.estimate, overload.cost, operands, sizes))
        return worst + own_cost(node)


def _call_cost(
    by_size: Callable[..., int] | None, by_value: Callable[..., int] | None, operands: list[Node], sizes: list[int]
) -> int:
    if by_size is not None:
        return by_size(*sizes)
    if by_value is None:
        return 0
    return by_value(*map(_stand_in, operands, sizes))


def _stand_in(node: Node, size: int) -> Any:
    """A stand-in with the length that a value may have, for functions that only use lengths."""
    if node.type.name == "int":
        return _MAX_SIZE
    return range(size)
