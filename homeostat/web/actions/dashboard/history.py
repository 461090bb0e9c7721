"""The history of a resource on its page: its runs over time, and each run with its phases, plan and output. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from homeostat.operators.actions.api import Reconciliation, ReconciliationSpec
from homeostat.operators.actions.runs.run import Changes, Steps
from homeostat.web.dashboard.html.components import chip, facts, last_line, moment, one_line, seconds, text_block
from homeostat.web.dashboard.html.markup import Markup, Node, el, link
from homeostat.web.dashboard.html.redaction import without_credentials
from homeostat.web.dashboard.html.runs import Phase, Run, phases, run_chart

_CHIPS: Final = {"gone": "phase-deleting"}


def history(entries: Sequence[Reconciliation]) -> Markup:
    """In the given order, newest first."""
    return el("ol", [_entry(each) for each in entries], class_="history")


def timeline(entries: Sequence[Reconciliation]) -> Node:
    """The runs over time with their durations; a bar leads to its run."""
    return run_chart([_run(each) for each in entries])


def _run(entry: Reconciliation) -> Run:
    spec = entry.spec
    about, href = spec.trigger.replace("_", " "), f"#run-{entry.metadata.name}"
    return Run(spec.finished, spec.duration_seconds, _look(spec), _result(spec), about, href)


def run_phases(planned: str, steps: Steps, verified: str = "") -> Node:
    """What a run did until when; without `verified` it is under way. Of runs before there were steps: nothing."""
    if steps.started is None:
        return None
    times = (
        ("Planned", planned),
        ("Started", steps.started),
        ("Waiting for another system", steps.waiting),
        ("Verifying", steps.ended),
    )
    return phases([Phase(word, time) for word, time in times if time], verified)


def _entry(entry: Reconciliation) -> Markup:
    spec = entry.spec
    # The name of the entry makes the id unique on the page.
    key = f"run-{entry.metadata.name}"
    summary = el(
        "summary",
        chip(_result(spec), _CHIPS.get(_look(spec), _look(spec))),
        el("span", spec.trigger.replace("_", " "), class_="trigger"),
        chip("drift", "warn") if spec.is_drift else None,
        el("span", last_line(spec.error) if spec.error else changes_text(spec.changes), class_="why"),
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
        run_phases(spec.started, spec.steps, spec.finished),
        *_error(spec),
        *(printed("Plan", spec.plan_output)),
        *(printed("Apply", spec.apply_output)),
    ]


def _error(spec: ReconciliationSpec) -> tuple[Markup, ...]:
    """As a line where the output is shown too: the error of a program ends with the same lines."""
    if not spec.error.strip():
        return ()
    if not (spec.plan_output.strip() or spec.apply_output.strip()):
        return printed("Error", spec.error)
    return (el("h3", "Error"), el("p", one_line(spec.error), class_="why"))


def printed(heading: str, text: str) -> tuple[Markup, ...]:
    return (el("h3", heading), text_block(text)) if text.strip() else ()


def changes_text(changes: Changes) -> str:
    counts = ((changes.created, "created"), (changes.updated, "updated"), (changes.deleted, "deleted"))
    return ", ".join(f"{count} {word}" for count, word in counts if count) or "no changes"


def _look(spec: ReconciliationSpec) -> str:
    return "good" if spec.is_success else "gone" if spec.phase == "cancelled" else "bad"


def _result(spec: ReconciliationSpec) -> str:
    return "success" if spec.is_success else "cancelled" if spec.phase == "cancelled" else "failed"
