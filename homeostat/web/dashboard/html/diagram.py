"""Boxes and arrows as SVG: services and their dependencies, objects and their owners. Pure.

Whoever draws chooses the places; this module draws what is there. Colour is never the only sign of a state: each box
has a sign for its look, and its words say the state. A box with a link is reached by the keyboard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from homeostat.web.dashboard.html.markup import Markup, el

_WIDTH, _HEIGHT, _GAP, _ROW, _EDGE = 256, 48, 64, 60, 8
_LONGEST_NAME, _LONGEST_NOTE = 25, 29
_SIGNS: Final = {
    "good": "✓",
    "plain": "·",
    "warn": "!",
    "bad": "✕",
    "wait": "○",
    "busy": "↻",
    "gone": "−",
    "outside": "↗",
}


class Place(NamedTuple):
    x: int
    y: int


class Box(NamedTuple):
    """`words` are its name for screen readers, `title` is shown by a pointer; without `href` it leads nowhere."""

    name: str
    note: str
    look: str
    words: str
    href: str = ""
    classes: tuple[str, ...] = ()
    title: str = ""


class Line(NamedTuple):
    start: str
    end: str
    words: str
    classes: tuple[str, ...] = ()


def place_at(column: int, row: float) -> Place:
    return Place(_EDGE + column * (_WIDTH + _GAP), round(_EDGE + row * _ROW))


def draw(
    boxes: Mapping[str, Box], lines: Sequence[Line], places: Mapping[str, Place], *, title: str, label: str
) -> Markup:
    drawn = [_line(each, places) for each in lines]
    drawn += [_box(each, places[key]) for key, each in boxes.items()]
    # Lines within the last column bend to the right of it.
    bends = any(places[each.start].x == places[each.end].x for each in lines)
    width = max((each.x for each in places.values()), default=0) + _WIDTH + (_GAP // 2 if bends else _EDGE)
    height = max((each.y for each in places.values()), default=0) + _HEIGHT + _EDGE
    return el(
        "svg",
        el("title", title),
        _marker(),
        drawn,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="group",
        aria_label=label,
    )


def _marker() -> Markup:
    tip = el("path", d="M0 0 L8 4 L0 8 z")
    size: dict[str, str | int] = {"viewBox": "0 0 8 8", "refX": 8, "refY": 4, "markerWidth": 9, "markerHeight": 9}
    return el("defs", el("marker", tip, id="tip", **size, markerUnits="userSpaceOnUse", orient="auto"))


def _box(box: Box, place: Place) -> Markup:
    x, y = place
    inside = (
        el("title", box.title or box.words),
        el("rect", x=x, y=y, width=_WIDTH, height=_HEIGHT, rx=8),
        el("text", _SIGNS.get(box.look, "○"), x=x + 16, y=y + 30, class_="sign", text_anchor="middle"),
        el("text", shortened(box.name, _LONGEST_NAME), x=x + 34, y=y + 21, class_="name"),
        el("text", shortened(box.note, _LONGEST_NOTE), x=x + 34, y=y + 38, class_="note"),
    )
    classes = " ".join(("node", box.look, *box.classes))
    if not box.href:
        return el("g", inside, class_=classes, role="img", aria_label=box.words)
    return el("a", inside, href=box.href, class_=classes, aria_label=box.words)


def _line(line: Line, places: Mapping[str, Place]) -> Markup:
    start, end = places[line.start], places[line.end]
    middle, bend = _HEIGHT // 2, _GAP // 2
    is_same = start.x == end.x
    x, y, to_x, to_y = start.x + _WIDTH, start.y + middle, end.x + (_WIDTH if is_same else 0), end.y + middle
    # Of one column, as in a cycle: around the right side.
    way = f"M{x} {y} C{x + bend} {y} {to_x + (bend if is_same else -bend)} {to_y} {to_x} {to_y}"
    classes = " ".join(("edge", *line.classes))
    return el("path", el("title", line.words), d=way, class_=classes, marker_end="url(#tip)")


def shortened(text: str, longest: int) -> str:
    """Without its middle: names of one owner's objects differ at the end."""
    if len(text) <= longest:
        return text
    end = longest // 2 - 1
    return f"{text[: longest - end - 1]}…{text[-end:]}"
