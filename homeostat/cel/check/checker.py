"""The type checker: a type for every part of an expression, an overload for every call, and Kubernetes' messages.

The tree is annotated in place. A part with an issue gets the type `ERROR`, which is assignable to everything, so one
mistake gives one message and independent mistakes are all reported at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from homeostat.cel.check.inference import Inference
from homeostat.cel.check.template import template_problem
from homeostat.cel.errors import CompileError, EvaluationError, Issue
from homeostat.cel.names import TYPE_NAMES
from homeostat.cel.registry import Overload, Registry
from homeostat.cel.syntax.parser import qualified_name
from homeostat.cel.syntax.tree import (
    Bind,
    Call,
    Comprehension,
    Constant,
    Entry,
    Ident,
    ListNode,
    MapNode,
    Node,
    OptionalMap,
    Select,
    StructNode,
)
from homeostat.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    UINT,
    ListType,
    MapType,
    ObjectType,
    OpaqueType,
    OptionalType,
    ParamType,
    Structs,
    StructType,
    Type,
    TypeType,
)
from homeostat.cel.values import Uint

_CONSTANTS: dict[type, Type] = {
    bool: BOOL,
    int: INT,
    Uint: UINT,
    float: DOUBLE,
    type(None): NULL,
}
_LITERAL_CHECKED = frozenset({"matches", "find", "findAll", "duration", "timestamp"})


def no_structs(_: str) -> StructType | None:
    return None


class Checker:
    """Checks one expression. `uses` collects the variables of the host that it reads."""

    def __init__(
        self,
        source: str,
        variables: Mapping[str, Type],
        functions: Registry,
        *,
        homogeneous: bool = True,
        structs: Structs = no_structs,
    ) -> None:
        self.source = source
        self.structs = structs
        self.variables = variables
        self.functions = functions
        self.homogeneous = homogeneous
        self.inference = Inference()
        self.scopes: list[tuple[str, Type]] = []
        self.issues: list[Issue] = []
        self.visited: list[Node] = []
        self.uses: set[str] = set()

    def check(self, root: Node) -> None:
        """Annotates the tree, or raises all issues as one `CompileError`."""
        self.visit(root)
        if self.issues:
            raise CompileError(self.source, self.issues)
        for node in self.visited:
            node.type = self.inference.resolve(node.type, final=True)

    def visit(self, node: Node) -> Type:
        node.type = _VISITORS[type(node)](self, node)
        self.visited.append(node)
        return node.type

    def complain(self, position: int, text: str) -> Type:
        self.issues.append(Issue(position, text))
        return ERROR

    def undeclared(self, position: int, name: str) -> Type:
        self.issues.append(Issue(position, f"undeclared reference to '{name}' (in container '')", undeclared=name))
        return ERROR

    def shown(self, type_: Type) -> str:
        return str(self.inference.resolve(type_, final=True))

    def constant(self, node: Constant) -> Type:
        value = node.value
        if isinstance(value, str):
            return STRING.limited(len(value))
        if isinstance(value, bytes):
            return BYTES.limited(len(value))
        return _CONSTANTS[type(value)]

    def ident(self, node: Ident) -> Type:
        for name, type_ in reversed(self.scopes):
            if name == node.name:
                return type_
        if (declared := self.variables.get(node.name)) is not None:
            self.uses.add(node.name)
            return declared
        if node.name in TYPE_NAMES:
            return TypeType(OpaqueType(node.name))
        return self.undeclared(node.position, node.name)

    def select(self, node: Select) -> Type:
        if not (node.is_test or node.is_optional) and (name := qualified_name(node)) in self.variables:
            node.variable = name or ""
            self.uses.add(node.variable)
            return self.variables[node.variable]
        operand = self.inference.resolve(self.visit(node.operand))
        is_wrapped = isinstance(operand, OptionalType)
        found = self.field_type(node, operand.value if isinstance(operand, OptionalType) else operand)
        if node.is_test:
            return BOOL if found is not ERROR else ERROR
        if (node.is_optional or is_wrapped) and found is not ERROR:
            return OptionalType(found)
        return found

    def field_type(self, node: Select, operand: Type) -> Type:
        match operand:
            case ObjectType():
                name = operand.member(node.field)
                if name is None:
                    return self.complain(node.position, f"undefined field '{node.field}'")
                return operand.fields[name]
            case MapType():
                if not self.inference.fits(operand.key, STRING):
                    shown = self.shown(operand)
                    return self.complain(node.position, f"type '{shown}' does not support field selection")
                return operand.value
            case ParamType():
                self.inference.fits(operand, DYN)
                return DYN
            case _ if operand in (DYN, ERROR):
                return operand
            case _:
                return self.complain(node.position, f"type '{self.shown(operand)}' does not support field selection")

    def call(self, node: Call) -> Type:
        if node.target is not None and (namespace := qualified_name(node.target)) is not None:
            name = f"{namespace}.{node.function}"
            if name in self.functions:
                node.function, node.target = name, None
        given = [self.visit(each) for each in node.operands()]
        overloads = self.functions.get(node.function)
        if overloads is None:
            return self.undeclared(node.position, node.function)
        if ERROR in given:
            return ERROR
        return self.resolve_call(node, overloads, given)

    def resolve_call(self, node: Call, overloads: tuple[Overload, ...], given: list[Type]) -> Type:
        is_member = node.target is not None
        result: Type | None = None
        chosen = []
        for overload in overloads:
            if overload.is_member != is_member:
                continue
            wanted, gives = self.inference.instance(overload)
            if self.inference.all_fit(wanted, given):
                gives = self.inference.resolve(gives)
                result = gives if result is None or result == gives else DYN
                chosen.append(overload)
        if result is None:
            return self.no_overload(node, given)
        node.overloads = tuple(chosen)
        self.check_literal(node)
        return result

    def no_overload(self, node: Call, given: list[Type]) -> Type:
        shown = [self.shown(each) for each in given]
        arguments = f"({', '.join(shown if node.target is None else shown[1:])})"
        applied = arguments if node.target is None else f"{shown[0]}.{arguments}"
        text = f"found no matching overload for '{node.function}' applied to '{applied}'"
        return self.complain(node.position, text)

    def check_literal(self, node: Call) -> None:
        """A literal pattern, timestamp or duration must be valid, and so must a literal template."""
        if node.function == "format" and (problem := template_problem(node)):
            self.complain(node.position, problem)
        if node.function not in _LITERAL_CHECKED or not node.args:
            return
        argument = node.args[0 if node.target is not None else -1]
        if not isinstance(argument, Constant) or not isinstance(argument.value, str):
            return
        operands: list[Any] = [argument.value]
        if node.target is not None or node.function == "matches":
            operands = ["", argument.value]
        try:
            node.overloads[0].call(*operands)
        except EvaluationError as error:
            self.complain(argument.position, f"invalid {node.function} argument: {error}")

    def list_node(self, node: ListNode) -> Type:
        element: Type | None = None
        for index, each in enumerate(node.elements):
            given = self.visit(each)
            if index in node.optionals:
                given = self.unwrapped(each, given)
            element = given if element is None else self.joined(each, element, given)
        if element is ERROR:
            return ERROR
        size = len(node.elements)
        return ListType(self.inference.variable() if element is None else element, max_size=size)

    def map_node(self, node: MapNode) -> Type:
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            key_given, value_given = self.visit(entry.key), self.entry_value(entry)
            key = key_given if key is None else self.joined(entry.key, key, key_given)
            value = value_given if value is None else self.joined(entry.value, value, value_given)
        if ERROR in (key, value):
            return ERROR
        if key is None or value is None:
            key, value = self.inference.variable(), self.inference.variable()
        return MapType(key, value, max_size=len(node.entries))

    def entry_value(self, entry: Entry) -> Type:
        given = self.visit(entry.value)
        return self.unwrapped(entry.value, given) if entry.is_optional else given

    def unwrapped(self, node: Node, given: Type) -> Type:
        wanted = OptionalType(self.inference.variable())
        if self.inference.fits(wanted, given):
            resolved = self.inference.resolve(wanted)
            assert isinstance(resolved, OptionalType)
            return resolved.value
        return self.complain(node.position, f"expected type '{OptionalType(DYN)}' but found '{self.shown(given)}'")

    def joined(self, node: Node, expected: Type, given: Type) -> Type:
        general = self.inference.join(expected, given)
        if general is not None:
            return general
        if self.homogeneous:
            text = f"expected type '{self.shown(expected)}' but found '{self.shown(given)}'"
            return self.complain(node.position, text)
        return DYN

    def struct(self, node: StructNode) -> Type:
        found = self.structs(node.name)
        if found is None:
            return self.undeclared(node.position, node.name)
        for member in node.members:
            given = self.visit(member.value)
            if member.is_optional:
                given = self.unwrapped(member.value, given)
            wanted = DYN if found.fields is None else found.fields.get(member.name)
            if wanted is None:
                self.complain(member.position, f"undefined field '{member.name}'")
            elif not self.inference.fits(wanted, given):
                expected = f"expected type of field '{member.name}' is '{wanted}'"
                self.complain(member.position, f"{expected} but provided type is '{self.shown(given)}'")
        return found.type

    def bind(self, node: Bind) -> Type:
        value = self.visit(node.value)
        return self.within([(node.name, value)], node.body)

    def optional_map(self, node: OptionalMap) -> Type:
        operand = self.visit(node.operand)
        wanted = OptionalType(self.inference.variable())
        if not self.inference.fits(wanted, operand):
            shown = self.shown(operand)
            name = "optFlatMap" if node.is_flat else "optMap"
            return self.complain(node.position, f"found no matching overload for '{name}' applied to '{shown}'")
        resolved = self.inference.resolve(wanted)
        assert isinstance(resolved, OptionalType)
        body = self.within([(node.name, resolved.value)], node.body)
        if not node.is_flat:
            return OptionalType(body)
        if not self.inference.fits(OptionalType(self.inference.variable()), body):
            text = f"expected type '{OptionalType(DYN)}' but found '{self.shown(body)}'"
            return self.complain(node.body.position, text)
        return body

    def within(self, names: list[tuple[str, Type]], body: Node) -> Type:
        self.scopes += names
        result = self.visit(body)
        del self.scopes[-len(names) :]
        return result

    def comprehension(self, node: Comprehension) -> Type:
        source = self.inference.resolve(self.visit(node.source))
        types = self.iterated(node, source)
        names = list(zip(node.variables, types, strict=True))
        if node.test is not None:
            self.boolean(node.test, self.within(names, node.test))
        body = self.within(names, node.body)
        size = source.max_size
        match node.kind:
            case "all" | "exists" | "existsOne":
                self.boolean(node.body, body)
                return BOOL
            case "filter":
                self.boolean(node.body, body)
                return ListType(types[0], max_size=size)
            case "map" | "transformList":
                return ListType(body, max_size=size)
            case "transformMap":
                return MapType(types[0], body, max_size=size)
            case "transformMapEntry":
                return self.entry_map(node, body)

    def entry_map(self, node: Comprehension, body: Type) -> Type:
        wanted = MapType(self.inference.variable(), self.inference.variable())
        if self.inference.fits(wanted, body):
            return self.inference.resolve(wanted)
        return self.complain(node.body.position, f"expected type 'map(dyn, dyn)' but found '{self.shown(body)}'")

    def iterated(self, node: Comprehension, source: Type) -> tuple[Type, ...]:
        """The types of the loop's variables."""
        has_two = len(node.variables) == 2
        match source:
            case ListType():
                return (INT, source.element) if has_two else (source.element,)
            case MapType():
                return (source.key, source.value) if has_two else (source.key,)
            case ParamType():
                self.inference.fits(source, DYN)
            case _ if source in (DYN, ERROR):
                pass
            case _:
                text = (
                    f"expression of type '{self.shown(source)}' cannot be range of a comprehension (must be list,"
                    " map, or dynamic)"
                )
                self.complain(node.source.position, text)
        return (DYN,) * len(node.variables)

    def boolean(self, node: Node, given: Type) -> None:
        if not self.inference.fits(BOOL, given):
            self.complain(node.position, f"expected type 'bool' but found '{self.shown(given)}'")


_VISITORS: dict[type[Node], Any] = {
    Constant: Checker.constant,
    Ident: Checker.ident,
    Select: Checker.select,
    Call: Checker.call,
    ListNode: Checker.list_node,
    MapNode: Checker.map_node,
    StructNode: Checker.struct,
    Bind: Checker.bind,
    OptionalMap: Checker.optional_map,
    Comprehension: Checker.comprehension,
}
