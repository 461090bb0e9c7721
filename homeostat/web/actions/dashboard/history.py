"""The history of a resource on its page: a bar for each run, and each run with its plan and output. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from homeostat.objects.time.timestamp import TimestampError, parse_time
from homeostat.operators.actions.api import Reconciliation, ReconciliationSpec
from homeostat.operators.actions.runs.run import Changes
from homeostat.web.dashboard.html.components import chip, facts, moment, one_line, seconds, text_block
from homeostat.web.dashboard.html.markup import Markup, Node, el, link
from homeostat.web.dashboard.html.redaction import without_credentials

MOST_BARS: Final = 40
_BAR, _GAP, _HEIGHT, _LEAST = 9, 3, 44, 3
_LINE, _TALL, _MIDDLE, _MARK = 1100, 36, 24, 8


def history(entries: Sequence[Reconciliation]) -> Markup:
    """In the given order, newest first."""
    return el("ol", [_entry(each) for each in entries], class_="history")


def durations(entries: Sequence[Reconciliation]) -> Node:
    """The durations of the runs, oldest on the left; nothing for fewer than two runs."""
    shown = [each.spec for each in reversed(entries[:MOST_BARS])]
    if len(shown) < 2:
        return None
    longest = max(each.duration_seconds for each in shown) or 1.0
    bars = [_bar(at, each, longest) for at, each in enumerate(shown)]
    failed = sum(not each.is_success for each in shown)
    label = f"The last {len(shown)} runs: {failed} failed; the longest took {seconds(longest)}"
    width = len(shown) * (_BAR + _GAP) - _GAP
    chart = el("svg", bars, width=width, height=_HEIGHT, viewBox=f"0 0 {width} {_HEIGHT}", role="img", aria_label=label)
    caption = f"Durations of the last {len(shown)} runs, up to {seconds(longest)}"
    return el("figure", chart, el("figcaption", caption), class_="durations")


def timeline(entries: Sequence[Reconciliation]) -> Node:
    """When the runs were, on one line; a failed one is a square above it. A mark leads to its run."""
    timed = [
        (found, each) for each in reversed(entries[:MOST_BARS]) if (found := _time(each.spec.finished)) is not None
    ]
    if len(timed) < 2:
        return None
    start, end = timed[0][0], timed[-1][0]
    span = max((end - start).total_seconds(), 1.0)
    inside = _LINE - 2 * _MARK
    marks = [_mark(_MARK + inside * (found - start).total_seconds() / span, each) for found, each in timed]
    line = el("line", x1=0, x2=_LINE, y1=_MIDDLE, y2=_MIDDLE, class_="grid")
    label = f"{len(timed)} runs from {timed[0][1].spec.finished} to {timed[-1][1].spec.finished}"
    chart = el("svg", el("title", label), line, marks, viewBox=f"0 0 {_LINE} {_TALL}", role="group", aria_label=label)
    caption = [
        moment(timed[0][1].spec.finished),
        el("span", "●", " success   ", "■", " failed", class_="note"),
        moment(timed[-1][1].spec.finished),
    ]
    return el("figure", chart, el("figcaption", caption), class_="run-timeline")


def _mark(x: float, entry: Reconciliation) -> Markup:
    spec = entry.spec
    words = f"{spec.finished}: {_result(spec)}, {spec.trigger.replace('_', ' ')}, {seconds(spec.duration_seconds)}"
    if spec.is_success:
        shape = el("circle", el("title", words), cx=f"{x:.1f}", cy=_MIDDLE, r=5, class_="bar-good")
    else:
        shape = el("rect", el("title", words), x=f"{x - 5:.1f}", y=_MIDDLE - 14, width=10, height=10, class_="bar-bad")
    return el("a", shape, href=f"#run-{entry.metadata.name}", aria_label=words)


def _time(text: str) -> datetime | None:
    try:
        return parse_time(text)
    except TimestampError:
        return None


def _bar(at: int, spec: ReconciliationSpec, longest: float) -> Markup:
    height = max(round(_HEIGHT * spec.duration_seconds / longest), _LEAST)
    look = "bar-good" if spec.is_success else "bar-bad"
    label = f"{seconds(spec.duration_seconds)}, {_result(spec)}, {spec.finished}"
    left, top = at * (_BAR + _GAP), _HEIGHT - height
    return el("rect", el("title", label), x=left, y=top, width=_BAR, height=height, rx=2, class_=look)


def _entry(entry: Reconciliation) -> Markup:
    spec = entry.spec
    # The name of the entry makes the id unique on the page.
    key = f"run-{entry.metadata.name}"
    summary = el(
        "summary",
        chip(_result(spec), "good" if spec.is_success else "phase-deleting" if spec.phase == "cancelled" else "bad"),
        el("span", spec.trigger.replace("_", " "), class_="trigger"),
        chip("drift", "warn") if spec.is_drift else None,
        el("span", one_line(spec.error) or changes_text(spec.changes), class_="why"),
        el("span", seconds(spec.duration_seconds), class_="took"),
        moment(spec.finished),
    )
    return el("li", el("details", summary, el("div", _details(spec), class_="inside"), id=f"{key}-all"), id=key)


def _details(spec: ReconciliationSpec) -> list[Node]:
    return [
        facts(
            ("Started", moment(spec.started)),
            ("Took", seconds(spec.duration_seconds)),
            ("Generation", spec.generation),
            ("Plugin", spec.plugin),
            ("Changes", changes_text(spec.changes)),
            ("Drift", "found" if spec.is_drift else "none"),
            ("Detected", link(without_credentials(spec.url)) if spec.url else ""),
        ),
        *(printed("Error", spec.error)),
        *(printed("Plan", spec.plan_output)),
        *(printed("Apply", spec.apply_output)),
    ]


def printed(heading: str, text: str) -> tuple[Markup, ...]:
    return (el("h4", heading), text_block(text)) if text.strip() else ()


def changes_text(changes: Changes) -> str:
    counts = ((changes.created, "created"), (changes.updated, "updated"), (changes.deleted, "deleted"))
    return ", ".join(f"{count} {word}" for count, word in counts if count) or "no changes"


def _result(spec: ReconciliationSpec) -> str:
    return "success" if spec.is_success else "cancelled" if spec.phase == "cancelled" else "failed"
