"""The tree of an expression. The parser builds it, the checker fills in `type` and the overloads of calls.

Macros keep their shape instead of becoming a general fold: a loop that knows it is an `all` can stop early and run
without an accumulator.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from homeostat.cel.types import DYN, Type

if TYPE_CHECKING:
    from homeostat.cel.registry import Overload


@dataclass(slots=True, eq=False)
class Node:
    position: int
    type: Type = field(default=DYN, kw_only=True)


@dataclass(slots=True, eq=False)
class Constant(Node):
    value: Any


@dataclass(slots=True, eq=False)
class Ident(Node):
    name: str


@dataclass(slots=True, eq=False)
class Select(Node):
    """`operand.field`; `is_test` for `has(operand.field)`, `is_optional` for `operand.?field`."""

    operand: Node
    field: str
    is_test: bool = False
    is_optional: bool = False
    variable: str = ""
    """The variable that the whole chain names, such as `authorizer.requestResource`."""


@dataclass(slots=True, eq=False)
class Call(Node):
    """Operators are calls too, named as in messages: `_&&_`, `_[_]`, `@in`."""

    function: str
    target: Node | None
    args: list[Node]
    overloads: tuple[Overload, ...] = ()

    def operands(self) -> list[Node]:
        return self.args if self.target is None else [self.target, *self.args]


@dataclass(slots=True, eq=False)
class ListNode(Node):
    elements: list[Node]
    optionals: frozenset[int]


@dataclass(slots=True, eq=False)
class Entry:
    key: Node
    value: Node
    is_optional: bool


@dataclass(slots=True, eq=False)
class MapNode(Node):
    entries: list[Entry]


@dataclass(slots=True, eq=False)
class Member:
    name: str
    value: Node
    is_optional: bool
    position: int


@dataclass(slots=True, eq=False)
class StructNode(Node):
    """`Name{field: value}`."""

    name: str
    members: list[Member]


Kind = Literal["all", "exists", "existsOne", "map", "filter", "transformList", "transformMap", "transformMapEntry"]


@dataclass(slots=True, eq=False)
class Comprehension(Node):
    """A loop over `source`, with one variable or with two (index and item, key and value).

    `test` decides which items count (None: all of them); `body` is what is done with them.
    """

    kind: Kind
    source: Node
    variables: tuple[str, ...]
    test: Node | None
    body: Node


@dataclass(slots=True, eq=False)
class Bind(Node):
    """`cel.bind(name, value, body)`."""

    name: str
    value: Node
    body: Node


@dataclass(slots=True, eq=False)
class OptionalMap(Node):
    """`operand.optMap(name, body)`; `is_flat` for `optFlatMap`, whose body is an optional already."""

    operand: Node
    name: str
    body: Node
    is_flat: bool


def children(node: Node) -> Iterator[Node]:
    match node:
        case Select():
            yield node.operand
        case Call():
            yield from node.operands()
        case ListNode():
            yield from node.elements
        case MapNode():
            for entry in node.entries:
                yield entry.key
                yield entry.value
        case StructNode():
            for member in node.members:
                yield member.value
        case Comprehension():
            yield node.source
            if node.test is not None:
                yield node.test
            yield node.body
        case Bind():
            yield node.value
            yield node.body
        case OptionalMap():
            yield node.operand
            yield node.body
        case _:
            return
