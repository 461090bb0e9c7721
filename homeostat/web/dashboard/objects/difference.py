"""The difference between two objects as pages show it: their YAML, line by line. Pure."""

from __future__ import annotations

from difflib import unified_diff
from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.objects.shown import as_yaml

MOST_LINES: Final = 2000
_VOLATILE: Final = ("resourceVersion", "generation")


def difference(before: JsonObject, after: JsonObject) -> Node:
    """None if they are the same. Versions and generations are left out: they differ with each write."""
    old, new = (as_yaml(_comparable(each)).splitlines() for each in (before, after))
    # A diff of long texts that have little in common takes quadratic time.
    if len(old) + len(new) > 2 * MOST_LINES:
        old, new = old[:MOST_LINES], new[:MOST_LINES]
    lines = list(unified_diff(old, new, lineterm="", n=3))[2:]
    return (
        el("div", map(_line, lines), class_="diff", role="group", aria_label="Changes", tabindex=0) if lines else None
    )


def _line(line: str) -> Markup:
    match line[:1]:
        case "+":
            return el("ins", line)
        case "-":
            return el("del", line)
        case "@":
            return el("span", line, class_="at")
    return el("span", line)


def _comparable(obj: JsonObject) -> JsonObject:
    metadata = {name: each for name, each in obj["metadata"].items() if name not in _VOLATILE}
    return {**obj, "metadata": metadata}
