"""Whether the template of a `format` fits its values, as far as both are literals."""

from __future__ import annotations

import re
from typing import Any

from homeostat.cel.syntax.tree import Call, Constant, ListNode
from homeostat.cel.values import Uint

_CLAUSE = re.compile(r"%(?:%|(?:\.\d{1,9})?(.?))", re.DOTALL)
_INTEGERS = frozenset({int, Uint})
_TAKEN: dict[str, frozenset[type]] = {
    "d": _INTEGERS,
    "o": _INTEGERS,
    "b": _INTEGERS | {bool},
    "f": frozenset({float}),
    "e": frozenset({float}),
    "x": _INTEGERS | {str, bytes},
    "X": _INTEGERS | {str, bytes},
}


def template_problem(node: Call) -> str:
    """What is wrong; empty if nothing is."""
    values = node.args[0] if len(node.args) == 1 else None
    if not isinstance(node.target, Constant) or not isinstance(values, ListNode):
        return ""
    template = node.target.value
    if not isinstance(template, str):
        return ""
    verbs: list[str] = [each[1] for each in _CLAUSE.finditer(template) if each[0] != "%%"]
    for index, verb in enumerate(verbs):
        if verb != "s" and verb not in _TAKEN:
            return f'unrecognized formatting clause "{verb}"'
        if index >= len(values.elements):
            return f"index {index} out of range"
        given: Any = values.elements[index]
        if verb != "s" and isinstance(given, Constant) and type(given.value) not in _TAKEN[verb]:
            return f"the clause %{verb} does not take value {index} of the list"
    if len(values.elements) > len(verbs):
        return f"too many arguments supplied to string.format (expected {len(verbs)}, got {len(values.elements)})"
    return ""
