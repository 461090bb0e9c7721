"""What evaluating costs, in Kubernetes' unit: about one step of its interpreter.

The cost of an evaluation is the fixed cost of the whole expression (charged once, whether or not `&&` and `?:` come to
every part), the fixed cost of a loop's body for every iteration, and what functions add for the sizes of their
operands. Comparisons of scalars add nothing: their length is bounded by the object itself, and Python compares a
megabyte in microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from homeostat.cel.syntax.tree import (
    Bind,
    Call,
    Comprehension,
    Ident,
    ListNode,
    MapNode,
    Node,
    OptionalMap,
    Select,
    StructNode,
    children,
)

CALL_LIMIT = 1_000_000
"""The cost of one evaluation; as Kubernetes' limit per call."""

OBJECT_LIMIT = 10_000_000
"""What all rules together may cost for one object; as Kubernetes' budget per request."""

ITERATION_COSTS = {
    "all": 3,
    "exists": 4,
    "existsOne": 4,
    "map": 12,
    "filter": 13,
    "transformList": 12,
    "transformMap": 32,
    "transformMapEntry": 32,
}
"""The cost of the loop itself for each item: reading the accumulator, testing the condition, appending to a list."""

_LIST_COST, _MAP_COST, _STRUCT_COST = 10, 30, 40


@dataclass(slots=True)
class Budget:
    """Cost shared by several evaluations, such as all rules of one object."""

    remaining: int = OBJECT_LIMIT


def own_cost(node: Node) -> int:
    """The fixed cost of a node without its children."""
    match node:
        case Ident():
            return 1
        case Select():
            return 0 if node.is_test else 1
        case Call():
            return 0 if node.function in ("_&&_", "_||_", "_?_:_") else 1
        case ListNode() | Bind():
            return _LIST_COST
        case MapNode():
            return _MAP_COST
        case StructNode():
            return _STRUCT_COST
        case Comprehension() | OptionalMap():
            return 1
        case _:
            return 0


def fixed_cost(node: Node) -> int:
    """The cost of a tree without the bodies of its loops."""
    if isinstance(node, Comprehension):
        return own_cost(node) + fixed_cost(node.source)
    return own_cost(node) + sum(map(fixed_cost, children(node)))


def iteration_cost(node: Comprehension) -> int:
    """The fixed cost of one round of a loop, without loops inside it."""
    test = 0 if node.test is None else fixed_cost(node.test)
    return ITERATION_COSTS[node.kind] + fixed_cost(node.body) + test
