"""Compiles a checked tree into closures.

Every node becomes one function of the frame, chosen by the types that the checker found: a comparison of two ints is
Python's own, a chain of selections is one function, a call with a single possible overload calls it directly. Types
are examined during evaluation only where the type is `dyn`.
"""

from __future__ import annotations

from typing import Any

from homeostat.cel.check.cost import CALL_LIMIT
from homeostat.cel.compile import calls, logic, loops, operators, selection
from homeostat.cel.compile.coercion import coercion
from homeostat.cel.compile.frame import Code, Frame
from homeostat.cel.compile.scope import Scope
from homeostat.cel.errors import CelError, EvaluationError, NoSuchOverloadError, shown
from homeostat.cel.syntax.tree import (
    Bind,
    Call,
    Comprehension,
    Constant,
    Ident,
    ListNode,
    MapNode,
    Node,
    OptionalMap,
    Select,
    StructNode,
)
from homeostat.cel.values import NONE, Optional, Struct, TypeValue


class Compiler:
    """Compiles one expression over the variables of its scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def code(self, node: Node) -> Code:
        code: Code = _COMPILERS[type(node)](self, node)
        return code

    def constant(self, node: Constant) -> Code:
        value = node.value
        return lambda _: value

    def ident(self, node: Ident) -> Code:
        slot = self.scope.slot(node.name)
        if slot is None:
            value = TypeValue(node.name)
            return lambda _: value
        convert = coercion(node.type)
        if convert is not None:
            return lambda frame: convert(frame[slot], frame)
        return lambda frame: frame[slot]

    def select(self, node: Select) -> Code:
        if node.variable:
            return self.ident(Ident(node.position, node.variable, type=node.type))
        return selection.select(self, node)

    def call(self, node: Call) -> Code:
        operands = node.operands()
        if node.function in logic.LAZY:
            return logic.lazy(self, node)
        codes = [self.code(each) for each in operands]
        if node.function in _FOLDED and all(isinstance(each, Constant) for each in operands):
            return _folded(calls.call(node, operands, codes))
        return operators.specialised(self.scope, node, operands, codes) or calls.call(node, operands, codes)

    def list_node(self, node: ListNode) -> Code:
        codes = [self.code(each) for each in node.elements]
        if node.optionals:
            optionals = node.optionals
            return lambda frame: _present([code(frame) for code in codes], optionals)
        if all(isinstance(each, Constant) for each in node.elements):
            values = [each.value for each in node.elements if isinstance(each, Constant)]
            return lambda _: values
        return lambda frame: [code(frame) for code in codes]

    def map_node(self, node: MapNode) -> Code:
        entries = [(self.code(each.key), self.code(each.value), each.is_optional) for each in node.entries]

        def build(frame: Frame) -> dict[Any, Any]:
            built: dict[Any, Any] = {}
            for key_code, value_code, is_optional in entries:
                key, value = key_code(frame), value_code(frame)
                if type(key) in (float, list, dict) or key is None:
                    raise EvaluationError("unsupported key type")
                if key in built:
                    raise EvaluationError(f"duplicate key in map: {shown(key)}")
                if not is_optional:
                    built[key] = value
                elif _optional(value, key).has_value:
                    built[key] = value.value
            return built

        return build

    def struct(self, node: StructNode) -> Code:
        members = [(each.name, self.code(each.value), each.is_optional) for each in node.members]
        name = node.name

        def build(frame: Frame) -> Struct:
            built: dict[str, Any] = {}
            for field, code, is_optional in members:
                value = code(frame)
                if not is_optional:
                    built[field] = value
                elif _optional(value, field).has_value:
                    built[field] = value.value
            return Struct(name, built)

        return build

    def bind(self, node: Bind) -> Code:
        value = self.code(node.value)
        (slot,) = self.scope.open((node.name,))
        body = self.code(node.body)
        self.scope.close((node.name,))

        def run(frame: Frame) -> Any:
            frame[slot] = value(frame)
            return body(frame)

        return run

    def optional_map(self, node: OptionalMap) -> Code:
        operand = self.code(node.operand)
        (slot,) = self.scope.open((node.name,))
        body = self.code(node.body)
        self.scope.close((node.name,))
        is_flat = node.is_flat

        def run(frame: Frame) -> Any:
            optional = operand(frame)
            if type(optional) is not Optional:
                raise NoSuchOverloadError()
            if not optional.has_value:
                return NONE
            frame[slot] = optional.value
            result = body(frame)
            return result if is_flat else Optional(result)

        return run

    def comprehension(self, node: Comprehension) -> Code:
        return loops.loop(self, node)


_FOLDED = frozenset({"timestamp", "duration", "quantity", "semver", "ip", "cidr", "url"})
"""Functions that parse text: a literal argument is parsed once."""


def _folded(code: Code) -> Code:
    """The value of code that reads no variable; code that raises keeps raising at each evaluation."""
    try:
        value = code([CALL_LIMIT])
    except CelError:
        return code
    return lambda _: value


def _present(values: list[Any], optionals: frozenset[int]) -> list[Any]:
    kept = []
    for index, value in enumerate(values):
        if index not in optionals:
            kept.append(value)
        elif _optional(value, index).has_value:
            kept.append(value.value)
    return kept


def _optional(value: Any, entry: object) -> Optional:
    """The value of an optional entry, of which only evaluation shows whether it is an optional one."""
    if not isinstance(value, Optional):
        raise EvaluationError(f"cannot initialize optional entry '{entry}' from non-optional value")
    return value


_COMPILERS: dict[type[Node], Any] = {
    Constant: Compiler.constant,
    Ident: Compiler.ident,
    Select: Compiler.select,
    Call: Compiler.call,
    ListNode: Compiler.list_node,
    MapNode: Compiler.map_node,
    StructNode: Compiler.struct,
    Bind: Compiler.bind,
    OptionalMap: Compiler.optional_map,
    Comprehension: Compiler.comprehension,
}
