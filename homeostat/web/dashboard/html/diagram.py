"""Boxes and arrows as SVG: services and their dependencies, objects and their owners. Pure.

Whoever draws chooses columns and rows; a column is as wide as its longest words. Colour is never the only sign of a
state: each box has a sign for its look, and its words say the state. A box with a link is reached by the keyboard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from homeostat.web.dashboard.html.markup import Markup, el

_NARROWEST, _WIDEST, _HEIGHT, _GAP, _ROW, _EDGE = 96, 272, 48, 64, 60, 8
_LONGEST_NAME, _LONGEST_NOTE = 25, 29
_NAME_PX, _NOTE_PX, _SIGN_PX = 9.2, 7.4, 42
"""The widths of a letter, in the widest of the fonts, and of the sign with the margins."""
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
    column: int
    row: float


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


class _Rect(NamedTuple):
    x: int
    y: int
    width: int


def draw(
    boxes: Mapping[str, Box], lines: Sequence[Line], places: Mapping[str, Place], *, title: str, label: str
) -> Markup:
    rects = _rects(boxes, places)
    drawn = [_line(each, rects) for each in lines]
    drawn += [_box(each, rects[key]) for key, each in boxes.items()]
    # Lines within the last column bend to the right of it.
    bends = any(rects[each.start].x == rects[each.end].x for each in lines)
    width = max((each.x + each.width for each in rects.values()), default=_WIDEST) + (_GAP // 2 if bends else _EDGE)
    height = max((each.y for each in rects.values()), default=0) + _HEIGHT + _EDGE
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


def zoom() -> Markup:
    """For the caption of a figure with a drawing; the styles show it where the script works."""
    buttons = (("out", "−", "Zoom out"), ("in", "+", "Zoom in"), ("fit", "Fit", "Fit the drawing into its frame"))
    out, further, fit = (
        el("button", text, type="button", data_zoom=what, aria_label=label, title=label)
        for what, text, label in buttons
    )
    return el("div", out, el("output", "100%"), further, fit, class_="zoom", role="group", aria_label="Zoom")


def _rects(boxes: Mapping[str, Box], places: Mapping[str, Place]) -> dict[str, _Rect]:
    widths: dict[int, int] = {}
    for key, place in places.items():
        widths[place.column] = max(widths.get(place.column, _NARROWEST), _width(boxes[key]))
    lefts, left = dict[int, int](), _EDGE
    for column in range(max(widths, default=-1) + 1):
        lefts[column] = left
        left += widths.get(column, _NARROWEST) + _GAP
    return {
        key: _Rect(lefts[place.column], round(_EDGE + place.row * _ROW), widths[place.column])
        for key, place in places.items()
    }


def _width(box: Box) -> int:
    return min(_SIGN_PX + round(max(_NAME_PX * len(box.name), _NOTE_PX * len(box.note))), _WIDEST)


def _marker() -> Markup:
    tip = el("path", d="M0 0 L8 4 L0 8 z")
    size: dict[str, str | int] = {"viewBox": "0 0 8 8", "refX": 8, "refY": 4, "markerWidth": 9, "markerHeight": 9}
    return el("defs", el("marker", tip, id="tip", **size, markerUnits="userSpaceOnUse", orient="auto"))


def _box(box: Box, rect: _Rect) -> Markup:
    x, y, width = rect
    inside = (
        el("title", box.title or box.words),
        el("rect", x=x, y=y, width=width, height=_HEIGHT, rx=8),
        el("text", _SIGNS.get(box.look, "○"), x=x + 16, y=y + 30, class_="sign", text_anchor="middle"),
        el("text", shortened(box.name, _LONGEST_NAME), x=x + 34, y=y + 21, class_="name"),
        el("text", shortened(box.note, _LONGEST_NOTE), x=x + 34, y=y + 38, class_="note"),
    )
    classes = " ".join(("node", box.look, *box.classes))
    if not box.href:
        return el("g", inside, class_=classes, role="img", aria_label=box.words)
    return el("a", inside, href=box.href, class_=classes, aria_label=box.words)


def _line(line: Line, rects: Mapping[str, _Rect]) -> Markup:
    start, end = rects[line.start], rects[line.end]
    middle, bend = _HEIGHT // 2, _GAP // 2
    is_same = start.x == end.x
    x, y, to_x, to_y = start.x + start.width, start.y + middle, end.x + (end.width if is_same else 0), end.y + middle
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
