"""The last syncs of a policy: what was applied when, from which commit, and how to roll back. Pure."""

from __future__ import annotations

from homeostat.operators.sync.api.policy import PolicyStatus, SyncRecord
from homeostat.web.dashboard.commit import commit_link
from homeostat.web.dashboard.html.command import command, shell
from homeostat.web.dashboard.html.components import Row, chip, moment, one_line, row, seconds, table
from homeostat.web.dashboard.html.markup import Node, el
from homeostat.web.dashboard.html.runs import Run, run_chart


def syncs_section(status: PolicyStatus, repository: str = "") -> Node:
    """None before the first sync. `repository` is its URL, for links to commits."""
    if not status.history:
        return None
    rows = [_row(at, each, repository) for at, each in enumerate(status.history)]
    headings = ("When", "Result", "Took", "Trigger", "Revision", "Changes", "Error")
    note = el("p", "Syncs that found everything as before are not listed.", class_="summary")
    chart = run_chart([_run(at, each) for at, each in enumerate(status.history)], "sync")
    listed = table("Last syncs", headings, rows)
    return el("section", el("h2", "Last syncs"), note, chart, listed, _rollback(status), id="syncs")


def _rollback(status: PolicyStatus) -> Node:
    """Of the last sync that applied a new commit, and to the revision that was applied before it. None if none did: no
    commit undoes what a sync corrected without a new one.
    """
    changed = [each for each in status.history if each.created or each.updated or each.deleted]
    last = next((each.revision for each in changed if each.trigger == "new revision"), "")
    if not last:
        return None
    before = next((each.revision for each in changed if each.revision != last), "")
    return [
        el(
            "p",
            "To roll back, revert the commit in a checkout of the repository; the next sync applies that: ",
            command(f"{shell('git', 'revert', '--no-edit', last)} && git push"),
            class_="note",
        ),
        el(
            "p",
            "To return to what was declared before, at ",
            el("code", before[:12]),
            ": ",
            command(f"{shell('git', 'revert', '--no-edit', f'{before}..HEAD')} && git push"),
            class_="note",
        )
        if before
        else None,
    ]


def _result(each: SyncRecord) -> tuple[str, str]:
    return ("failed", "bad") if each.error else ("held", "warn") if each.held else ("succeeded", "good")


def _run(at: int, each: SyncRecord) -> Run:
    word, look = _result(each)
    return Run(each.time, each.duration_seconds, look, word, f"{each.trigger}, {_changes(each)}", f"#row-sync-{at}")


def _row(at: int, each: SyncRecord, repository: str) -> Row:
    word, look = _result(each)
    return row(
        f"sync-{at}",
        moment(each.time),
        chip(word, look),
        seconds(each.duration_seconds) if each.duration_seconds else "–",
        f"{each.trigger} ({each.mode})",
        commit_link(repository, each.revision),
        _changes(each),
        el("span", one_line(each.error), class_="why"),
    )


def _changes(each: SyncRecord) -> str:
    words = ("created", "updated", "deleted", "held", "failed")
    counts = (each.created, each.updated, each.deleted, each.held, each.failed)
    return ", ".join(f"{count:,} {word}" for count, word in zip(counts, words, strict=True) if count) or "none"
