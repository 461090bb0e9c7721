"""Reading members: `a.b.c`, `has(a.b)`, `a.?b`.

The common case, JSON objects all the way, is a chain of subscripts in one function. If that fails in any way, the
chain is walked again step by step, which finds the right error or the optional on the way.
"""

from __future__ import annotations

from typing import Any

from homeostat.cel.compile.coercion import coercion
from homeostat.cel.compile.frame import Code, Frame
from homeostat.cel.compile.scope import Compiling
from homeostat.cel.errors import EvaluationError, NoSuchOverloadError, no_such_key
from homeostat.cel.syntax.tree import Ident, Node, Select
from homeostat.cel.types import ObjectType, OptionalType, Type
from homeostat.cel.values import NONE, Optional

_MISSING = object()


class _Step:
    """One member to read. In an object of a schema, null counts as absent."""

    __slots__ = ("is_object", "name")

    def __init__(self, node: Select) -> None:
        operand = _inner(node.operand.type)
        self.is_object = isinstance(operand, ObjectType)
        self.name = (operand.member(node.field) or node.field) if isinstance(operand, ObjectType) else node.field

    def find(self, value: Any) -> Any:
        """The member of a value, or `_MISSING`."""
        if type(value) is not dict:
            if value is None or isinstance(value, str | int | float | bytes | list):
                raise EvaluationError(f"no such field '{self.name}'") if self.is_object else NoSuchOverloadError()
            raise EvaluationError(f"no such field '{self.name}'")
        found = value.get(self.name, _MISSING)
        return _MISSING if found is None and self.is_object else found

    def read(self, value: Any) -> Any:
        if type(value) is Optional:
            return self.read_optional(value)
        found = self.find(value)
        if found is _MISSING:
            raise no_such_key(self.name)
        return found

    def read_optional(self, value: Any) -> Optional:
        if type(value) is Optional:
            if not value.has_value:
                return NONE
            value = value.value
        found = self.find(value)
        return NONE if found is _MISSING else Optional(found)

    def is_present(self, value: Any) -> bool:
        if type(value) is Optional:
            return value.has_value and self.find(value.value) is not _MISSING
        return self.find(value) is not _MISSING


def _inner(type_: Type) -> Type:
    return type_.value if isinstance(type_, OptionalType) else type_


def select(compiler: Compiling, node: Select) -> Code:
    step = _Step(node)
    if node.is_test:
        return _test(compiler.code(node.operand), step)
    if node.is_optional or isinstance(node.operand.type, OptionalType):
        return _converted_optional(compiler.code(node.operand), step, node.type)
    root, steps = _chain(node)
    code = _path(compiler, root, steps)
    convert = coercion(node.type)
    return code if convert is None else lambda frame: convert(code(frame), frame)


def _test(operand: Code, step: _Step) -> Code:
    name, is_object, is_present = step.name, step.is_object, step.is_present

    def run(frame: Frame) -> bool:
        value = operand(frame)
        if type(value) is dict:
            return value.get(name) is not None if is_object else name in value
        return is_present(value)

    return run


def _converted_optional(operand: Code, step: _Step, type_: Type) -> Code:
    convert = coercion(_inner(type_))
    read = step.read_optional
    if convert is None:
        return lambda frame: read(operand(frame))

    def run(frame: Frame) -> Optional:
        found = read(operand(frame))
        return Optional(convert(found.value, frame)) if found.has_value else found

    return run


def _chain(node: Select) -> tuple[Node, list[_Step]]:
    """The node at the root of plain selections, and the steps from it."""
    steps = [_Step(node)]
    root = node.operand
    while isinstance(root, Select) and not (root.is_test or root.is_optional or isinstance(root.type, OptionalType)):
        steps.append(_Step(root))
        root = root.operand
    if isinstance(root.type, OptionalType):
        steps = steps[:1]
        root = node.operand
    return root, steps[::-1]


def _path(compiler: Compiling, root: Node, steps: list[_Step]) -> Code:
    slot = compiler.scope.slot(root.name) if isinstance(root, Ident) else None
    if slot is None or coercion(root.type) is not None or len(steps) > 3:
        return _walk(compiler.code(root), steps)
    last_is_object = steps[-1].is_object

    def slow(frame: Frame) -> Any:
        value = frame[slot]
        for step in steps:
            value = step.read(value)
        return value

    return _FAST[len(steps)](slot, [step.name for step in steps], last_is_object, slow)


def _walk(root: Code, steps: list[_Step]) -> Code:
    reads = [step.read for step in steps]
    if len(reads) == 1:
        read = reads[0]
        return lambda frame: read(root(frame))

    def run(frame: Frame) -> Any:
        value = root(frame)
        for read in reads:
            value = read(value)
        return value

    return run


def _one(slot: int, names: list[str], is_object: bool, slow: Code) -> Code:
    (first,) = names

    def run(frame: Frame) -> Any:
        try:
            value = frame[slot][first]
        except (LookupError, TypeError):
            return slow(frame)
        return slow(frame) if value is None and is_object else value

    return run


def _two(slot: int, names: list[str], is_object: bool, slow: Code) -> Code:
    first, second = names

    def run(frame: Frame) -> Any:
        try:
            value = frame[slot][first][second]
        except (LookupError, TypeError):
            return slow(frame)
        return slow(frame) if value is None and is_object else value

    return run


def _three(slot: int, names: list[str], is_object: bool, slow: Code) -> Code:
    first, second, third = names

    def run(frame: Frame) -> Any:
        try:
            value = frame[slot][first][second][third]
        except (LookupError, TypeError):
            return slow(frame)
        return slow(frame) if value is None and is_object else value

    return run


_FAST = {1: _one, 2: _two, 3: _three}
