"""Calls that are rewritten before they are checked: `has`, the comprehensions, `cel.bind` and the like.

A call is a macro by its name and its number of arguments; any other call of that name is left to the checker.
"""

from __future__ import annotations

from homeostat.cel.errors import CompileError, Issue
from homeostat.cel.syntax.tree import Bind, Call, Comprehension, Ident, Kind, ListNode, Node, OptionalMap, Select

_ONE_VARIABLE: dict[str, Kind] = {
    "all": "all",
    "exists": "exists",
    "exists_one": "existsOne",
    "existsOne": "existsOne",
    "map": "map",
    "filter": "filter",
}
_TWO_VARIABLES: dict[str, Kind] = {
    "all": "all",
    "exists": "exists",
    "exists_one": "existsOne",
    "existsOne": "existsOne",
    "transformList": "transformList",
    "transformMap": "transformMap",
    "transformMapEntry": "transformMapEntry",
}
_TRANSFORMS = frozenset({"transformList", "transformMap", "transformMapEntry"})


def expand(source: str, call: Call) -> Node:
    """The expansion of a call; the call itself if it is not a macro."""
    if call.target is None:
        return _has(source, call) if call.function == "has" and len(call.args) == 1 else call
    if isinstance(call.target, Ident) and (expanded := _namespaced(source, call, call.target.name)) is not None:
        return expanded
    return _member(source, call, call.target)


def _has(source: str, call: Call) -> Node:
    argument = call.args[0]
    if not isinstance(argument, Select) or argument.is_test or argument.is_optional:
        raise CompileError(source, [Issue(call.position, "invalid argument to has() macro")])
    return Select(call.position, argument.operand, argument.field, is_test=True)


def _namespaced(source: str, call: Call, namespace: str) -> Node | None:
    if namespace == "cel" and call.function == "bind" and len(call.args) == 3:
        return Bind(call.position, _variable(source, call.args[0]), call.args[1], call.args[2])
    if namespace == "math" and call.function in ("greatest", "least"):
        if not call.args:
            raise CompileError(source, [Issue(call.position, f"math.{call.function}() requires at least one argument")])
        if len(call.args) == 1 and isinstance(call.args[0], ListNode) and not call.args[0].elements:
            raise CompileError(source, [Issue(call.position, f"math.{call.function}() invalid single argument value")])
        folded = call.args[:2]
        for argument in call.args[2:]:
            folded = [Call(call.position, call.function, call.target, folded), argument]
        return Call(call.position, call.function, call.target, folded)
    return None


def _member(source: str, call: Call, target: Node) -> Node:
    name, args = call.function, call.args
    if name in ("optMap", "optFlatMap") and len(args) == 2:
        return OptionalMap(call.position, target, _variable(source, args[0]), args[1], name == "optFlatMap")
    if name in _ONE_VARIABLE and (len(args) == 2 or (name == "map" and len(args) == 3)):
        variables: tuple[str, ...] = (_variable(source, args[0]),)
        test = args[1] if len(args) == 3 else None
        return Comprehension(call.position, _ONE_VARIABLE[name], target, variables, test, args[-1])
    if name in _TWO_VARIABLES and (len(args) == 3 or (name in _TRANSFORMS and len(args) == 4)):
        variables = (_variable(source, args[0]), _variable(source, args[1]))
        if variables[0] == variables[1]:
            raise CompileError(source, [Issue(args[1].position, f"duplicate variable name: {variables[0]}")])
        test = args[2] if len(args) == 4 else None
        return Comprehension(call.position, _TWO_VARIABLES[name], target, variables, test, args[-1])
    return call


def _variable(source: str, node: Node) -> str:
    if isinstance(node, Ident):
        return node.name
    raise CompileError(source, [Issue(node.position, "argument must be a simple name")])
