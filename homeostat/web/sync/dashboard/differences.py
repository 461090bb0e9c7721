"""What differs between a repository and a server, resource by resource, as the last sync saw it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from homeostat.operators.sync.api.policy import FieldChange, ResourceReport
from homeostat.web.dashboard.html.components import chip, one_line, text_block
from homeostat.web.dashboard.html.markup import Markup, Node, el
from homeostat.web.dashboard.html.redaction import plain_text

_FEW: Final = 5
MOST_OPEN: Final = 20
"""Entries of a list; the others are folded."""
_LOOKS: Final = {
    "failed": "bad",
    "unknown": "bad",
    "create": "good",
    "update": "phase-reconciling",
    "delete": "phase-deleting",
    "held": "warn",
    "created": "good",
    "updated": "phase-reconciling",
    "deleted": "phase-deleting",
    "gone": "plain",
    "undeclared": "warn",
}


def resource_list(reports: Sequence[ResourceReport], key: str = "resource") -> Markup:
    """In the given order; what differed is folded, unless there are few. `key` is for the ids."""
    entries = [_entry(f"{key}-{at}", each, is_open=len(reports) <= _FEW) for at, each in enumerate(reports)]
    shown, rest = (entries[:MOST_OPEN], entries[MOST_OPEN:]) if len(entries) > MOST_OPEN + _FEW else (entries, [])
    folded = (
        el("details", el("summary", f"Show {len(rest):,} more"), _list(rest), class_="fold", id=f"{key}-rest")
        if rest
        else None
    )
    return el("div", _list(shown), folded)


def _list(entries: Sequence[Markup]) -> Markup:
    return el("ol", entries, class_="history resources-list")


def _entry(key: str, report: ResourceReport, *, is_open: bool) -> Markup:
    summary = el(
        "summary",
        chip(report.result, _LOOKS.get(report.result, "plain")),
        el("code", report.path, class_="path"),
        el("span", _summary(report), class_="why"),
        el("span", f"by {report.changed_by}" if report.changed_by else "", class_="took"),
    )
    inside: list[Node] = [_error(report), _changes(report)]
    return el(
        "li",
        el("details", summary, el("div", inside, class_="inside"), id=f"{key}-all", open=is_open),
        id=key,
    )


def _summary(report: ResourceReport) -> str:
    """What is held tells its fields first: why it is held is often the same for all."""
    told = (_fields(report) if report.result == "held" else "", one_line(report.message))
    return " · ".join(each for each in told if each) or _fields(report)


def _fields(report: ResourceReport) -> str:
    return ", ".join(each or "the whole object" for each in report.fields)


def _error(report: ResourceReport) -> Node:
    if not report.message or (not report.kind and one_line(report.message) == report.message):
        # The line above says it.
        return None
    title = f"Error: {report.kind}" if report.kind else "Why"
    return [el("h3", title), text_block(report.message)]


def _changes(report: ResourceReport) -> Node:
    if report.changes:
        return [el("h3", "Live against declared"), diff(report.changes)]
    if report.fields:
        return [el("h3", "Fields that differed"), text_block("\n".join(report.fields))]
    return None


def diff(changes: Sequence[FieldChange]) -> Markup:
    """The live value of each field as a removed line, the declared one as an added line."""
    lines: list[Node] = []
    for each in changes:
        lines.append(el("span", each.pointer or "/", class_="at"))
        if each.live:
            lines.append(el("del", f"- {plain_text(each.live)}"))
        if each.declared:
            lines.append(el("ins", f"+ {plain_text(each.declared)}"))
    return el("div", lines, class_="diff", role="group", aria_label="Differences; - is live, + is declared", tabindex=0)
