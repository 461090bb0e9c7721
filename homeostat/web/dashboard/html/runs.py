"""Runs over time: a bar for each, as high as it took long, and the phases of one run. Pure.

Runs of resources and syncs of SyncPolicies are shown by the same components. A bar has a sign for its outcome, so that
colour is not all there is, and leads to its run.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from homeostat.objects.time.timestamp import TimestampError, parse_time
from homeostat.web.dashboard.html.components import many, moment, seconds
from homeostat.web.dashboard.html.markup import Markup, Node, el

MOST_BARS: Final = 40
_WIDTH, _HEIGHT, _BASE, _TOP = 1100, 112, 98, 24
_BAR, _STEP, _LEAST = 12, 16, 4
_SIGNS: Final = {"good": "✓", "bad": "✕", "gone": "−", "warn": "!"}


class Run(NamedTuple):
    """`look` is `good`, `bad`, `gone` or `warn`, `word` says the outcome; `href` leads to its details."""

    ended: str
    took_s: float
    look: str
    word: str
    about: str
    href: str


def run_chart(newest_first: Sequence[Run], noun: str = "run") -> Node:
    """Oldest on the left; a run stands where it was in time, but beside its neighbours. None for fewer than two."""
    timed = [(at, each) for each in reversed(newest_first[:MOST_BARS]) if (at := time_of(each.ended)) is not None]
    if len(timed) < 2:
        return None
    longest = max(each.took_s for _, each in timed) or 1.0
    bars = [_bar(x, each, longest) for x, (_, each) in zip(_places([at for at, _ in timed]), timed, strict=True)]
    failed = sum(each.look == "bad" for _, each in timed)
    label = f"The last {many(len(timed), noun)}: {failed} failed; the longest took {seconds(longest)}"
    chart = el(
        "svg",
        el("title", label),
        el("line", x1=0, x2=_WIDTH, y1=_TOP, y2=_TOP, class_="grid faint"),
        el("text", seconds(longest), x=0, y=_TOP - 8),
        el("line", x1=0, x2=_WIDTH, y1=_BASE, y2=_BASE, class_="grid"),
        bars,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="group",
        aria_label=label,
    )
    scroll = el("div", chart, class_="chart", role="region", aria_label=f"{noun}s over time", tabindex=0)
    words = {each.look: each.word for _, each in timed}
    legend = [el("span", f"{_SIGNS[look]} {word}", class_=f"sign {look}") for look, word in sorted(words.items())]
    ends = (moment(timed[0][1].ended), el("span", legend, class_="legend"), moment(timed[-1][1].ended))
    return el("figure", scroll, el("figcaption", ends), class_="run-timeline")


class Phase(NamedTuple):
    word: str
    began: str


def phases(found: Sequence[Phase], ended: str = "") -> Node:
    """When each phase began and how long it took; without `ended`, the last one goes on. None without phases."""
    timed = [(each, at) for each in found if (at := time_of(each.began)) is not None]
    if not timed:
        return None
    last = time_of(ended)
    ends: list[datetime | None] = [*(at for _, at in timed[1:]), last]
    took = [
        max((end - at).total_seconds(), 0.0) if end is not None else None
        for (_, at), end in zip(timed, ends, strict=True)
    ]
    rows = [
        el(
            "li",
            el("strong", each.word),
            " ",
            el("span", _clock(at), class_="quiet"),
            " ",
            el("span", seconds(count), class_="took") if count is not None else _now(),
        )
        for (each, at), count in zip(timed, took, strict=True)
    ]
    return [_strip([each for each in took if each is not None]), el("ol", rows, class_="phases")]


def _now() -> Markup:
    return el("span", "now", class_="chip phase-reconciling")


def time_of(text: str | None) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except TimestampError:
        return None


def _clock(at: datetime) -> str:
    at = at.astimezone(UTC)
    return f"{at:%H:%M:%S}.{at.microsecond // 1000:03} UTC"


def _strip(took: Sequence[float]) -> Node:
    """The shares of the phases in the whole; the list below it names them in the same order."""
    total = sum(took)
    if total <= 0 or len(took) < 2:
        return None
    at, parts = 0.0, list[Markup]()
    for number, each in enumerate(took):
        width = 100 * each / total
        parts.append(el("rect", x=f"{at:.2f}%", width=f"{width:.2f}%", height="100%", class_=f"part-{number % 4}"))
        at += width
    return el("svg", parts, class_="shares", aria_hidden="true")


def _places(times: Sequence[datetime]) -> list[float]:
    """Where the bars stand: by time, moved apart where they would cover each other."""
    span = max((times[-1] - times[0]).total_seconds(), 1.0)
    room = _WIDTH - _STEP
    wanted = [room * (each - times[0]).total_seconds() / span for each in times]
    for at in range(1, len(wanted)):
        wanted[at] = max(wanted[at], wanted[at - 1] + _STEP)
    edge = float(room)
    for at in range(len(wanted) - 1, -1, -1):
        wanted[at] = min(wanted[at], edge)
        edge = wanted[at] - _STEP
    return wanted


def _bar(x: float, run: Run, longest: float) -> Markup:
    height = max(round((_BASE - _TOP) * run.took_s / longest), _LEAST)
    words = f"{run.word}, {seconds(run.took_s)}, {run.about}, {run.ended}"
    bar = el("rect", x=f"{x:.1f}", y=_BASE - height, width=_BAR, height=height, rx=2)
    sign = el("text", _SIGNS[run.look], x=f"{x + _BAR / 2:.1f}", y=_HEIGHT - 2, text_anchor="middle")
    return el("a", el("title", words), bar, sign, href=run.href, class_=run.look, aria_label=words)
