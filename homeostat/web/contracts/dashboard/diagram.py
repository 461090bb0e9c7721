"""Draws which service depends on which, as SVG: dependents on the left, what they need on the right. Pure.

A service stands one column left of all that it needs. The members of a cycle stand in one column, and the edges among
them are marked. Colour is never the only sign of a state: each box has the sign of its status.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from homeostat.operators.contracts.engine.services.components import components
from homeostat.web.dashboard.html.markup import Markup, Node, el

MOST_NODES: Final = 150
"""A larger graph is not drawn as a whole."""
_WIDTH, _HEIGHT, _GAP, _ROW, _EDGE = 190, 48, 96, 64, 8
_LONGEST: Final = 20
_SWEEPS: Final = 4
_SIGNS: Final = {
    "Compliant": ("good", "✓"),
    "Reference": ("plain", "·"),
    "Warning": ("warn", "!"),
    "NonCompliant": ("bad", "✕"),
    "Unknown": ("wait", "○"),
    "external": ("outside", "↗"),
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
    drawn: list[Node] = [_line(each, places, in_cycle, lit) for each in lines if each.start != each.end]
    drawn += [_box(each, places[name], in_cycle, lit, focus) for name, each in boxes.items()]
    # Lines within the last column bend to the right of it.
    width = max((x for x, _ in places.values()), default=0) + _WIDTH + (_GAP // 2 if cycles else _EDGE)
    height = max((y for _, y in places.values()), default=0) + _HEIGHT + _EDGE
    label = f"{len(boxes)} services and {len(lines)} dependencies"
    title = el("title", f"Who depends on whom: {label}")
    svg = el(
        "svg",
        title,
        _marker(),
        drawn,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="group",
        aria_label=label,
    )
    return Drawing(svg, cycles)


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
) -> dict[str, tuple[int, int]]:
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
    places: dict[str, tuple[int, int]] = {}
    for column, stack in stacks.items():
        above = (tallest - len(stack)) * _ROW // 2
        for at, name in enumerate(stack):
            places[name] = _EDGE + column * (_WIDTH + _GAP), _EDGE + above + at * _ROW
    return places


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _marker() -> Markup:
    tip = el("path", d="M0 0 L8 4 L0 8 z")
    return el(
        "defs",
        el(
            "marker",
            tip,
            id="tip",
            viewBox="0 0 8 8",
            refX=8,
            refY=4,
            markerWidth=9,
            markerHeight=9,
            markerUnits="userSpaceOnUse",
            orient="auto",
        ),
    )


def _box(box: Box, place: tuple[int, int], in_cycle: Mapping[str, int], lit: Collection[str], focus: str) -> Markup:
    x, y = place
    look, sign = _SIGNS.get(box.status, ("wait", "○"))
    classes = ["node", look]
    classes += ["focus"] if box.name == focus else ["lit"] if box.name in lit else ["faded"] if lit else []
    classes += ["in-cycle"] if box.name in in_cycle else []
    words = f"{box.name} {box.version}: {box.status}"
    inside = (
        el("title", f"{words}{', in a cycle' if box.name in in_cycle else ''}"),
        el("rect", x=x, y=y, width=_WIDTH, height=_HEIGHT, rx=8),
        el("text", sign, x=x + 16, y=y + 30, class_="sign", text_anchor="middle"),
        el("text", _short(box.name), x=x + 34, y=y + 21, class_="name"),
        el("text", _short(box.version or box.status), x=x + 34, y=y + 38, class_="note"),
    )
    return el("a", inside, href=box.href, class_=" ".join(classes), aria_label=words)


def _line(
    line: Line, places: Mapping[str, tuple[int, int]], in_cycle: Mapping[str, int], lit: Collection[str]
) -> Markup:
    (x, y), (to_x, to_y) = places[line.start], places[line.end]
    middle = _HEIGHT // 2
    is_cycle = line.start in in_cycle and in_cycle.get(line.start) == in_cycle.get(line.end)
    classes = ["edge", "" if line.is_required else "optional", "cycle" if is_cycle else ""]
    if lit:
        classes.append("lit" if line.start in lit and line.end in lit else "faded")
    out, to_in = (x + _WIDTH, y + middle), (to_x if x != to_x else to_x + _WIDTH, to_y + middle)
    bend = _GAP // 2
    # Of one column, as in a cycle: around the right side.
    back = bend if x == to_x else -bend
    way = f"M{out[0]} {out[1]} C{out[0] + bend} {out[1]} {to_in[0] + back} {to_in[1]} {to_in[0]} {to_in[1]}"
    words = f"{line.start} {'requires' if line.is_required else 'may use'} {line.end} {line.note}".strip()
    title = el("title", f"{words}{' (cycle)' if is_cycle else ''}")
    return el("path", title, d=way, class_=" ".join(filter(None, classes)), marker_end="url(#tip)")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
