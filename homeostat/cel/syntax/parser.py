"""The parser turns tokens into a tree: the grammar of the language, with optional syntax and macros.

Chains of `&&` and of `||` become balanced trees, so that long ones nest little. Nesting is limited, so that
neither the checker nor an evaluation can exhaust the stack.
"""

from __future__ import annotations

from collections.abc import Callable

from homeostat.cel.errors import CompileError, Issue
from homeostat.cel.names import RESERVED, TYPE_NAMES
from homeostat.cel.syntax.lexer import Token, tokenize
from homeostat.cel.syntax.macros import expand
from homeostat.cel.syntax.tree import Call, Constant, Entry, Ident, ListNode, MapNode, Member, Node, Select, StructNode
from homeostat.cel.values import INT_MAX, INT_MIN

MAX_DEPTH = 100
"""The most levels of nesting in an expression."""

_BINARY = {
    "<": (3, "_<_"),
    "<=": (3, "_<=_"),
    ">": (3, "_>_"),
    ">=": (3, "_>=_"),
    "==": (3, "_==_"),
    "!=": (3, "_!=_"),
    "in": (3, "@in"),
    "+": (4, "_+_"),
    "-": (4, "_-_"),
    "*": (5, "_*_"),
    "/": (5, "_/_"),
    "%": (5, "_%_"),
}
_WORDS = {"true": True, "false": False, "null": None}


def parse(source: str) -> Node:
    """The tree of an expression; `CompileError` if the text is not one."""
    parser = _Parser(source)
    node = parser.expression()
    parser.expect_end()
    return node


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = tokenize(source)
        self.index = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    def fail(self, text: str, position: int | None = None) -> CompileError:
        return CompileError(self.source, [Issue(self.token.position if position is None else position, text)])

    def unexpected(self, wanted: str) -> CompileError:
        return self.fail(f"Syntax error: mismatched input '{self.token.value}' expecting {wanted}")

    def at(self, *operators: str) -> bool:
        token = self.token
        return token.kind == "operator" and token.value in operators

    def take(self, operator: str) -> bool:
        if self.at(operator):
            self.index += 1
            return True
        return False

    def expect(self, operator: str) -> None:
        if not self.take(operator):
            raise self.unexpected(f"'{operator}'")

    def expect_end(self) -> None:
        if self.token.kind != "end":
            raise self.unexpected("<EOF>")

    def deepen(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail(f"expression is nested too deeply: more than {MAX_DEPTH} levels")

    def expression(self) -> Node:
        self.deepen()
        depth = self.depth
        condition = self.chain("||", "_||_", lambda: self.chain("&&", "_&&_", lambda: self.binary(3)))
        position = self.token.position
        if self.take("?"):
            yes = self.chain("||", "_||_", lambda: self.chain("&&", "_&&_", lambda: self.binary(3)))
            self.expect(":")
            no = self.expression()
            condition = Call(position, "_?_:_", None, [condition, yes, no])
        self.depth = depth - 1
        return condition

    def chain(self, operator: str, function: str, operand: Callable[[], Node]) -> Node:
        terms, positions = [operand()], []
        while self.at(operator):
            positions.append(self.token.position)
            self.index += 1
            terms.append(operand())
        return _balanced(function, terms, positions)

    def binary(self, level: int) -> Node:
        depth = self.depth
        left = self.unary()
        while True:
            token = self.token
            found = _BINARY.get(token.value) if token.kind in ("operator", "name") else None
            if found is None or found[0] < level:
                self.depth = depth
                return left
            self.deepen()
            self.index += 1
            left = Call(token.position, found[1], None, [left, self.binary(found[0] + 1)])

    def unary(self) -> Node:
        token = self.token
        if not self.at("!", "-"):
            return self.member()
        self.index += 1
        following = self.token
        if token.value == "-" and following.kind == "constant" and type(following.value) in (int, float):
            self.tokens[self.index] = Token("constant", -following.value, token.position)
            return self.member()
        self.deepen()
        operand = self.unary()
        self.depth -= 1
        return Call(token.position, "!_" if token.value == "!" else "-_", None, [operand])

    def member(self) -> Node:
        depth = self.depth
        node = self.primary()
        while True:
            position = self.token.position
            if self.take("."):
                node = self.after_dot(node, position)
            elif self.take("["):
                function = "_[?_]" if self.take("?") else "_[_]"
                node = Call(position, function, None, [node, self.expression()])
                self.expect("]")
            elif self.at("{") and (name := qualified_name(node)) is not None:
                node = self.struct(position, name)
            else:
                self.depth = depth
                return node
            self.deepen()

    def after_dot(self, operand: Node, position: int) -> Node:
        is_optional = self.take("?")
        token = self.token
        if token.kind not in ("name", "quoted") or token.value in ("in", "true", "false", "null"):
            raise self.unexpected("IDENTIFIER")
        self.index += 1
        opening = self.token.position
        if is_optional or token.kind == "quoted" or not self.take("("):
            select = Select(position, operand, token.value, is_optional=is_optional)
            name = qualified_name(select)
            return Ident(operand.position, name) if name in TYPE_NAMES and name is not None else select
        return expand(self.source, Call(opening, token.value, operand, self.expressions(")")))

    def expressions(self, closing: str) -> list[Node]:
        nodes: list[Node] = []
        while not self.at(closing):
            nodes.append(self.expression())
            if not self.take(","):
                break
        self.expect(closing)
        return nodes

    def primary(self) -> Node:
        token = self.token
        if token.kind == "constant":
            return self.constant(token)
        if token.kind == "name":
            return self.name(token)
        if self.take("("):
            node = self.expression()
            self.expect(")")
            return node
        if self.take("["):
            return self.list_literal(token.position)
        if self.take("{"):
            return MapNode(token.position, self.entries())
        if self.take(".") and self.token.kind == "name":
            return self.name(self.token)
        raise self.unexpected("an expression")

    def constant(self, token: Token) -> Node:
        if type(token.value) is int and not INT_MIN <= token.value <= INT_MAX:
            raise self.fail("invalid int literal")
        self.index += 1
        return Constant(token.position, token.value)

    def name(self, token: Token) -> Node:
        if token.value in _WORDS:
            self.index += 1
            return Constant(token.position, _WORDS[token.value])
        if token.value == "in":
            raise self.unexpected("an expression")
        self.index += 1
        opening = self.token.position
        if self.take("("):
            return expand(self.source, Call(opening, token.value, None, self.expressions(")")))
        if token.value in RESERVED:
            raise self.fail(f"reserved identifier: {token.value}", token.position)
        return Ident(token.position, token.value)

    def list_literal(self, position: int) -> Node:
        elements: list[Node] = []
        optionals = set()
        while not self.at("]"):
            if self.take("?"):
                optionals.add(len(elements))
            elements.append(self.expression())
            if not self.take(","):
                break
        self.expect("]")
        return ListNode(position, elements, frozenset(optionals))

    def entries(self) -> list[Entry]:
        entries = []
        while not self.at("}"):
            is_optional = self.take("?")
            key = self.expression()
            self.expect(":")
            entries.append(Entry(key, self.expression(), is_optional))
            if not self.take(","):
                break
        self.expect("}")
        return entries

    def struct(self, position: int, name: str) -> Node:
        """Most environments declare no structs; the checker says so by the name."""
        self.expect("{")
        members: list[Member] = []
        while not self.at("}"):
            is_optional = self.take("?")
            if self.token.kind not in ("name", "quoted"):
                raise self.unexpected("IDENTIFIER")
            field = self.token
            self.index += 1
            colon = self.token.position
            self.expect(":")
            members.append(Member(str(field.value), self.expression(), is_optional, colon))
            if not self.take(","):
                break
        self.expect("}")
        return StructNode(position, name, members)


def _balanced(function: str, terms: list[Node], positions: list[int]) -> Node:
    if len(terms) == 1:
        return terms[0]
    middle = (len(terms) + 1) // 2
    left = _balanced(function, terms[:middle], positions[: middle - 1])
    right = _balanced(function, terms[middle:], positions[middle:])
    return Call(positions[middle - 1], function, None, [left, right])


def qualified_name(node: Node) -> str | None:
    """`a.b.c` as one name; None for anything but a chain of plain selections."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.is_optional and (name := qualified_name(node.operand)) is not None:
        return f"{name}.{node.field}"
    return None
