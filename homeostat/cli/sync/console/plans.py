"""Plans and reports for people: coloured text, and Markdown for a comment on a pull request."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Final

import msgspec

from homeostat.cli.console.colour import paint
from homeostat.objects.json import Json
from homeostat.operators.sync.run.plan import Action, Change, Step, SyncPlan
from homeostat.operators.sync.run.report import Report

_COLOURS: Final = {"create": "green", "update": "yellow", "delete": "red", "unknown": "bold red"}
_SIGNS: Final = {"add": "+", "remove": "-", "replace": "~", "drop": "-"}
_RESULTS: Final = {"created": "green", "updated": "yellow", "deleted": "red", "failed": "bold red", "held": "cyan"}
_LONGEST_COMMENT: Final = 60_000
"""Characters: forges refuse comments of more than 65,536."""
_ORDER: Final[tuple[tuple[Action, str], ...]] = (
    ("create", "to create"),
    ("update", "to update"),
    ("delete", "to delete"),
    ("unknown", "unknown"),
    ("undeclared", "no longer declared (prune is off)"),
    ("unchanged", "unchanged"),
)


def summary(plan: SyncPlan) -> str:
    counts = [f"{plan.count(action)} {words}" for action, words in _ORDER if plan.count(action)]
    return f"Plan of {plan.source} ({plan.mode}): {', '.join(counts) or 'nothing to do'}."


def text_lines(plan: SyncPlan) -> Iterator[str]:
    for step in plan.steps:
        if step.action in ("unchanged", "gone"):
            continue
        yield paint(f"{step.action:<10} {step.path}", _COLOURS.get(step.action, ""), sys.stdout) + _notes(step)
        yield from (f"  {line}" for line in _changes(step))
    if plan.held:
        yield f"Nothing would be changed: {plan.held}."
    yield summary(plan)


def _notes(step: Step) -> str:
    notes = [
        f"renamed from {step.renamed_from}" if step.renamed_from else "",
        f"changed by {step.changed_by}" if step.changed_by else "",
        f"held: {step.held}" if step.held else "",
        step.error,
    ]
    found = [each for each in notes if each]
    return f" ({'; '.join(found)})" if found else ""


def _changes(step: Step) -> Iterator[str]:
    if step.action == "update":
        for each in step.differences:
            yield _line(each)
        if step.more:
            yield f"and {step.more} more differences"
    elif step.action == "create":
        value = step.differences[0].local if step.differences else None
        if isinstance(value, dict):
            yield from (f"+ /{key}: {_shown(item)}" for key, item in value.items())
        elif value is not None:
            yield f"+ {_shown(value)}"


def _line(change: Change) -> str:
    at = change.pointer or "/"
    match change.operation:
        case "add" | "drop":
            return f"{_SIGNS[change.operation]} {at}: {_shown(change.remote)}"
        case "remove":
            return f"+ {at}: {_shown(change.local)}"
        case _:
            return f"~ {at}: {_shown(change.remote)} -> {_shown(change.local)}"


def _shown(value: Json) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else f"{text[:200]}... ({len(text)} characters)"


def markdown(plan: SyncPlan) -> str:
    """A comment: a summary, and the differences of each resource folded."""
    pieces = [f"### {summary(plan)}\n"]
    if plan.revision:
        pieces.append(f"Revision `{_code(plan.revision)}`, server `{_code(plan.server)}`.\n")
    if plan.held:
        pieces.append(f"**Nothing would be changed:** {_text(plan.held)}.\n")
    steps = [each for each in plan.steps if each.action not in ("unchanged", "gone")]
    size = sum(map(len, pieces))
    for place, step in enumerate(steps):
        piece = _section(step)
        if size + len(piece) > _LONGEST_COMMENT:
            pieces.append(f"\n{len(steps) - place} more resources are not shown.\n")
            break
        pieces.append(piece)
        size += len(piece)
    return "\n".join(pieces)


def _section(step: Step) -> str:
    lines = list(_changes(step))
    if not lines:
        return f"- **{step.action}** `{_code(step.path)}`{_text(_notes(step))}"
    body = "\n".join(_diff(each) for each in lines)
    fence = "`" * max(3, 1 + max((len(each) for each in re.findall("`+", body)), default=0))
    title = f"{step.action} <code>{_html(step.path)}</code>{_html(_notes(step))}"
    return f"<details><summary>{title}</summary>\n\n{fence}diff\n{body}\n{fence}\n\n</details>"


def _diff(line: str) -> str:
    """A replacement has no sign in the colours of a diff."""
    return f"! {line[2:]}" if line.startswith("~ ") else line


def _code(text: str) -> str:
    return text.replace("`", "'").replace("\n", " ")


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")


def _text(text: str) -> str:
    return re.sub(r"([\\`*_\[\]|@#])", r"\\\1", _html(text))


def report_lines(report: Report) -> Iterator[str]:
    for each in report.results:
        if each.became not in ("unchanged", "undeclared"):
            note = f" ({each.message})" if each.message else ""
            yield paint(f"{each.became:<10} {each.path}", _RESULTS.get(each.became, ""), sys.stdout) + note
    counts = [
        f"{count} {word}"
        for word in ("created", "updated", "unchanged", "deleted", "gone", "held", "failed")
        if (count := report.count(word))
    ]
    yield f"{', '.join(counts) or 'Nothing to do'}."
    if report.health:
        yield report.health
