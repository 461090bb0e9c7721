"""Writes a tree as a pattern of Rust's `regex`. Every class is spelled out, so that differences of the dialects do not
matter.
"""

from __future__ import annotations

from homeostat.cel.regex.classes import Chars
from homeostat.cel.regex.syntax import Alternate, Assertion, Concat, Repeat, Tree

_ASSERTIONS = {
    "text start": r"\A",
    "text end": r"\z",
    "line start": "(?m:^)",
    "line end": "(?m:$)",
    "word": r"(?-u:\b)",
    "not word": r"(?-u:\B)",
}


def render(tree: Tree) -> str:
    match tree:
        case Concat():
            return "".join(map(render, tree.items))
        case Alternate():
            return f"(?:{'|'.join(map(render, tree.items))})"
        case Repeat():
            high = "" if tree.high is None else str(tree.high)
            return f"(?:{render(tree.item)}){{{tree.low},{high}}}{'' if tree.is_greedy else '?'}"
        case Assertion():
            return _ASSERTIONS[tree.kind]
        case Chars():
            return _chars(tree)


def _chars(chars: Chars) -> str:
    ranges = "".join(f"\\x{{{low:X}}}-\\x{{{high:X}}}" for low, high in chars.ranges)
    properties = "".join(f"\\{'P' if is_negated else 'p'}{{{name}}}" for name, is_negated in chars.properties)
    text = f"[{'^' if chars.is_negated else ''}{ranges}{properties}]"
    return f"(?i:{text})" if chars.ignores_case else text
