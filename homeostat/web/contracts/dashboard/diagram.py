"""Draws which service depends on which: dependents on the left, what they need on the right. Pure.

A service stands one column left of all that it needs. The members of a cycle stand in one column, and the edges among
them are marked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from homeostat.operators.contracts.engine.services.components import components
from homeostat.web.dashboard.html import diagram
from homeostat.web.dashboard.html.diagram import Place
from homeostat.web.dashboard.html.markup import Markup

MOST_NODES: Final = 150
"""A larger graph is not drawn as a whole."""
_SWEEPS: Final = 4
_LOOKS: Final = {
    "Compliant": "good",
    "Reference": "plain",
    "Warning": "warn",
    "NonCompliant": "bad",
    "external": "outside",
}


class Box(NamedTuple):
    """A service. `href` leads to its page."""

    name: str
    version: str
    status: str
    href: str


class Line(NamedTuple):
    start: str
    end: str
    is_required: bool
    note: str = ""


class Drawing(NamedTuple):
    svg: Markup
    cycles: list[list[str]]


def draw(
    boxes: Mapping[str, Box], lines: Sequence[Line], *, focus: str = "", affected: Collection[str] = ()
) -> Drawing:
    """With a focus, what is `affected` by it stands out."""
    edges: dict[str, list[str]] = {name: [] for name in boxes}
    for each in lines:
        edges[each.start].append(each.end)
    found = [sorted(each) for each in components(edges)]
    cycles = [each for each in found if len(each) > 1 or each[0] in edges[each[0]]]
    columns = _columns(found, edges)
    places = _places(boxes, edges, columns)
    in_cycle = {name: at for at, each in enumerate(cycles) for name in each}
    lit = {focus, *affected} if focus else set[str]()
    shown = {name: _box(each, in_cycle, lit, focus) for name, each in boxes.items()}
    drawn = [_line(each, in_cycle, lit) for each in lines if each.start != each.end]
    label = f"{len(boxes)} services and {len(lines)} dependencies"
    return Drawing(diagram.draw(shown, drawn, places, title=f"Who depends on whom: {label}", label=label), cycles)


def _columns(found: Sequence[Sequence[str]], edges: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Counted from the right; a component comes after all that it leads to."""
    depth: dict[str, int] = {}
    for members in found:
        inside = set(members)
        below = [depth[end] for name in members for end in edges[name] if end not in inside]
        depth |= dict.fromkeys(members, max(below, default=-1) + 1)
    deepest = max(depth.values(), default=0)
    return {name: deepest - each for name, each in depth.items()}


def _places(
    boxes: Mapping[str, Box], edges: Mapping[str, Sequence[str]], columns: Mapping[str, int]
) -> dict[str, Place]:
    """The boxes of a column in the order of their neighbours, which keeps most lines from crossing."""
    near: dict[str, list[str]] = {name: [] for name in boxes}
    for start, ends in edges.items():
        for end in ends:
            near[start].append(end)
            near[end].append(start)
    stacks: dict[int, list[str]] = {}
    for name in sorted(boxes):
        stacks.setdefault(columns[name], []).append(name)
    rows: dict[str, float] = {name: float(at) for stack in stacks.values() for at, name in enumerate(stack)}
    for sweep in range(_SWEEPS):
        for column in sorted(stacks, reverse=bool(sweep % 2)):
            wanted = {name: _mean([rows[each] for each in near[name]], rows[name]) for name in stacks[column]}
            stacks[column].sort(key=lambda name: (wanted[name], name))
            rows |= {name: float(at) for at, name in enumerate(stacks[column])}
    tallest = max(map(len, stacks.values()), default=0)
    places: dict[str, Place] = {}
    for column, stack in stacks.items():
        above = (tallest - len(stack)) / 2
        places |= {name: Place(column, above + at) for at, name in enumerate(stack)}
    return places


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _box(box: Box, in_cycle: Mapping[str, int], lit: Collection[str], focus: str) -> diagram.Box:
    classes = ["focus"] if box.name == focus else ["lit"] if box.name in lit else ["faded"] if lit else []
    classes += ["in-cycle"] if box.name in in_cycle else []
    words = f"{box.name} {box.version}: {box.status}"
    more = ", in a cycle" if box.name in in_cycle else ""
    look = _LOOKS.get(box.status, "wait")
    return diagram.Box(box.name, box.version or box.status, look, words, box.href, tuple(classes), f"{words}{more}")


def _line(line: Line, in_cycle: Mapping[str, int], lit: Collection[str]) -> diagram.Line:
    is_cycle = line.start in in_cycle and in_cycle.get(line.start) == in_cycle.get(line.end)
    classes = ["" if line.is_required else "optional", "cycle" if is_cycle else ""]
    if lit:
        classes.append("lit" if line.start in lit and line.end in lit else "faded")
    words = f"{line.start} {'requires' if line.is_required else 'may use'} {line.end} {line.note}".strip()
    return diagram.Line(line.start, line.end, f"{words}{' (cycle)' if is_cycle else ''}", tuple(filter(None, classes)))
