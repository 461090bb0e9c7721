"""The score of a policy over time, from the audit results that are kept: read as a table, without their violations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec

from homeostat.client.base import Client
from homeostat.objects.declared import OwnerReference
from homeostat.objects.errors import NotFoundError
from homeostat.objects.time.timestamp import TimestampError, parse_time
from homeostat.operators.policy.api import POLICY_AUDIT_RESULT
from homeostat.web.dashboard.html.markup import Markup, Node, el

_TABLE: Final = "application/json;as=Table;g=meta.k8s.io;v=v1"
_COLUMNS: Final = ("Score", "Violations", "Class")
_WIDTH, _HEIGHT, _EDGE, _LEFT = 1100, 150, 10, 40


class Result(NamedTuple):
    """One audit result."""

    name: str
    time: str
    score: int
    violations: int
    classification: str


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    creation_timestamp: str = ""
    owner_references: tuple[OwnerReference, ...] = ()


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata


class _Row(msgspec.Struct, frozen=True):
    cells: list[Any]
    object: _Object


class _Column(msgspec.Struct, frozen=True):
    name: str


class _Table(msgspec.Struct, frozen=True, rename="camel"):
    column_definitions: list[_Column]
    rows: list[_Row] | None = None


_table = msgspec.json.Decoder(_Table)


async def read_results(client: Client, namespace: str, uid: str) -> list[Result]:
    """Those of the policy with this uid, the oldest first."""
    path = POLICY_AUDIT_RESULT.kind.path(namespace)
    try:
        found = _table.decode(await client.fetch("GET", path, accept=_TABLE))
    except (NotFoundError, msgspec.ValidationError):
        return []
    names = [each.name for each in found.column_definitions]
    if any(each not in names for each in _COLUMNS):
        return []
    score, violations, word = (names.index(each) for each in _COLUMNS)
    results: list[Result] = []
    for each in found.rows or ():
        where, cells = each.object.metadata, each.cells
        if any(owner.uid == uid for owner in where.owner_references):
            counts = _number(cells[score]), _number(cells[violations])
            results.append(Result(where.name, where.creation_timestamp, *counts, str(cells[word])))
    return sorted(results, key=lambda each: (each.time, each.name))


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def score_chart(results: Sequence[Result], path: str, chosen: str) -> Node:
    """The score as steps: each holds until the next result. A point leads to the violations of its result."""
    timed = [(moment, each) for each in results if (moment := _time(each.time)) is not None]
    if len(timed) < 2:
        return None
    start, end = timed[0][0], timed[-1][0]
    span = max((end - start).total_seconds(), 1.0)
    points = [
        (_LEFT + (_WIDTH - _LEFT - _EDGE) * (moment - start).total_seconds() / span, each) for moment, each in timed
    ]
    way = f"M{points[0][0]:.1f} {_y(points[0][1].score):.1f}"
    way += "".join(f" H{x:.1f} V{_y(each.score):.1f}" for x, each in points[1:])
    lines = [_line(each) for each in (0, 50, 100)]
    marks = [_mark(x, each, path, is_chosen=each.name == chosen) for x, each in points]
    label = f"Score over {len(timed)} results: first {timed[0][1].score}, last {timed[-1][1].score}"
    chart = el(
        "svg",
        el("title", label),
        lines,
        el("path", d=way, class_="steps-line"),
        marks,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="group",
        aria_label=label,
    )
    caption = f"{label}. Choose a point to see its violations."
    return el("figure", chart, el("figcaption", caption), class_="score-chart")


def result_path(path: str, name: str) -> str:
    """Of the page with this audit result; `path` is that of the page, and may have a query."""
    return f"{path}{'&' if '?' in path else '?'}result={name}"


def _time(text: str) -> datetime | None:
    try:
        return parse_time(text)
    except TimestampError:
        return None


def _y(score: int) -> float:
    return _EDGE + (_HEIGHT - 2 * _EDGE) * (1 - max(0, min(score, 100)) / 100)


def _line(score: int) -> Markup:
    y = _y(score)
    line = el("line", x1=_LEFT, x2=_WIDTH, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid")
    return el("g", line, el("text", score, x=_LEFT - 8, y=f"{y + 4:.1f}", text_anchor="end"))


def _mark(x: float, result: Result, path: str, *, is_chosen: bool) -> Markup:
    words = f"{result.time}: score {result.score}, {result.classification}, {result.violations} violations"
    dot = el("circle", el("title", words), cx=f"{x:.1f}", cy=f"{_y(result.score):.1f}", r=8 if is_chosen else 6)
    return el("a", dot, href=result_path(path, result.name), aria_label=words, class_="chosen" if is_chosen else None)
