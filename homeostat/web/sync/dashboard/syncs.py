"""The last syncs of a policy: what was applied when, from which commit, and how to roll back. Pure."""

from __future__ import annotations

from homeostat.operators.sync.api.policy import PolicyStatus, SyncRecord
from homeostat.web.dashboard.html.command import command, shell
from homeostat.web.dashboard.html.components import chip, moment, one_line, row, table
from homeostat.web.dashboard.html.markup import Markup, Node, el


def syncs_section(status: PolicyStatus) -> Node:
    """None before the first sync."""
    if not status.history:
        return None
    rows = [_row(at, each) for at, each in enumerate(status.history)]
    headings = ("When", "Result", "Because of", "Revision", "Changes", "Error")
    note = el("p", "Syncs that found everything as before are not listed.", class_="summary")
    return el(
        "section", el("h2", "Last syncs"), note, table("Last syncs", headings, rows), _rollback(status), id="syncs"
    )


def _rollback(status: PolicyStatus) -> Node:
    """Of the last sync that changed something; None if none of them did."""
    last = next((each for each in status.history if each.created or each.updated or each.deleted), None)
    if last is None:
        return None
    return el(
        "p",
        "To roll back, revert the commit in a checkout of the repository; the next sync applies that: ",
        command(f"{shell('git', 'revert', '--no-edit', last.revision)} && git push"),
        class_="note",
    )


def _row(at: int, each: SyncRecord) -> Markup:
    word, look = ("failed", "bad") if each.error else ("held", "warn") if each.held else ("succeeded", "good")
    return row(
        f"sync-{at}",
        moment(each.time),
        chip(word, look),
        f"{each.trigger} ({each.mode})",
        el("code", each.revision[:12], title=each.revision),
        _changes(each),
        el("span", one_line(each.error), class_="why"),
    )


def _changes(each: SyncRecord) -> str:
    words = ("created", "updated", "deleted", "held", "failed")
    counts = (each.created, each.updated, each.deleted, each.held, each.failed)
    return ", ".join(f"{count:,} {word}" for count, word in zip(counts, words, strict=True) if count) or "none"
