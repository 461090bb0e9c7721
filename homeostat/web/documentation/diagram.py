"""Draws a dependency graph as SVG: one column a level, from the service to what it needs. Pure.

A service stands in the column of its shortest way from the root. Optional dependencies are dashed.
"""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat.operators.contracts.engine.graph.graph import Edge, Graph, Node
from homeostat.operators.contracts.engine.reference import last_segment
from homeostat.web.dashboard.html.markup import Markup, el

MAX_NODES: Final = 120
"""A larger graph is not drawn."""
_WIDTH, _HEIGHT, _GAP, _ROW, _EDGE = 176, 46, 124, 66, 4
_LONGEST: Final = 22


class _Box(msgspec.Struct):
    title: str
    note: str
    column: int
    row: int = 0
    is_broken: bool = False

    @property
    def x(self) -> int:
        return _EDGE + self.column * (_WIDTH + _GAP)

    @property
    def y(self) -> int:
        return _EDGE + self.row * _ROW


class _Line(msgspec.Struct, frozen=True):
    start: str
    end: str
    note: str
    is_optional: bool


def draw(graph: Graph) -> Markup | None:
    """Return the drawing; None if there is nothing to draw, or too much."""
    boxes: dict[str, _Box] = {}
    lines: dict[tuple[str, str], _Line] = {}
    _collect(graph.root, boxes, lines)
    if len(boxes) < 2 or len(boxes) > MAX_NODES:
        return None
    _place(boxes)
    width = max(each.x for each in boxes.values()) + _WIDTH + _EDGE
    height = max(each.y for each in boxes.values()) + _HEIGHT + _EDGE
    drawn = [_line(boxes[each.start], boxes[each.end], each) for each in lines.values()]
    drawn += [_box(key, each, is_root=not each.column) for key, each in boxes.items()]
    labels = [_label(boxes[each.start], boxes[each.end], each.note) for each in lines.values()]
    view = f"0 0 {width} {height}"
    title = el("title", f"Dependencies of {graph.root.name}")
    return el("svg", title, drawn, labels, viewBox=view, width=width, height=height, role="img")


def _collect(root: Node, boxes: dict[str, _Box], lines: dict[tuple[str, str], _Line]) -> None:
    start = _key(root)
    boxes[start] = _Box(root.name, root.version, 0)
    level: list[tuple[str, Node]] = [(start, root)]
    column = 0
    while level and len(boxes) <= MAX_NODES:
        column += 1
        following: list[tuple[str, Node]] = []
        for key, node in level:
            for edge in node.dependencies:
                end = _end(edge)
                lines.setdefault((key, end), _Line(key, end, edge.compatibility, not edge.required))
                if end not in boxes:
                    boxes[end] = _target(edge, column)
                if edge.node is not None and not edge.shared:
                    following.append((end, edge.node))
        level = following


def _target(edge: Edge, column: int) -> _Box:
    if edge.node is None:
        return _Box(last_segment(edge.ref), "unresolved", column, is_broken=bool(edge.error))
    return _Box(edge.node.name, edge.node.version, column)


def _key(node: Node) -> str:
    return f"{node.name}@{node.version}"


def _end(edge: Edge) -> str:
    return edge.ref if edge.node is None else _key(edge.node)


def _place(boxes: dict[str, _Box]) -> None:
    """Stack the boxes of each column; shorter columns are centred."""
    columns: dict[int, list[_Box]] = {}
    for each in boxes.values():
        columns.setdefault(each.column, []).append(each)
    tallest = max(map(len, columns.values()))
    for stack in columns.values():
        above = (tallest - len(stack)) // 2
        for row, each in enumerate(stack):
            each.row = above + row


def _box(key: str, box: _Box, *, is_root: bool) -> Markup:
    kind = "root" if is_root else "broken" if box.is_broken else None
    return el(
        "g",
        el("title", key),
        el("rect", x=box.x, y=box.y, width=_WIDTH, height=_HEIGHT, rx=8),
        el("text", _short(box.title), x=box.x + 12, y=box.y + 20),
        el("text", _short(box.note), x=box.x + 12, y=box.y + 36, class_="note"),
        class_=kind,
    )


def _ends(start: _Box, end: _Box) -> tuple[int, int, int, int]:
    if start.column < end.column:
        return start.x + _WIDTH, start.y + _HEIGHT // 2, end.x, end.y + _HEIGHT // 2
    if start.column > end.column:
        return start.x, start.y + _HEIGHT // 2, end.x + _WIDTH, end.y + _HEIGHT // 2
    # Below each other: around the right side.
    return start.x + _WIDTH, start.y + _HEIGHT // 2, end.x + _WIDTH, end.y + _HEIGHT // 2


def _line(start: _Box, end: _Box, line: _Line) -> Markup:
    x, y, to_x, to_y = _ends(start, end)
    bend = _GAP // 2 if start.column <= end.column else -_GAP // 2
    back = -bend if start.column != end.column else bend
    way = f"M{x} {y} C{x + bend} {y} {to_x + back} {to_y} {to_x} {to_y}"
    return el("path", d=way, class_="optional" if line.is_optional else None)


def _label(start: _Box, end: _Box, text: str) -> Markup:
    x, y, to_x, to_y = _ends(start, end)
    return el("text", _short(text), x=(x + to_x) // 2, y=(y + to_y) // 2 - 4, text_anchor="middle", class_="note halo")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
