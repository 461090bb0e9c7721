"""A report as rows, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from homeostat.operators.policy.engine.check import SEVERITIES
from homeostat.operators.policy.report.report import Entry, Report, ScoreLine

FINDINGS = ("SEVERITY", "CHECK", "NAMESPACE", "OBJECT", "CONTAINER", "MESSAGE", "SOURCE")
SCORES = ("POLICY", "SCORE", "PODS", "VIOLATIONS", "STATUS")

Row = tuple[str, ...]


def gravest_first(entries: Iterable[Entry]) -> list[Entry]:
    """Those that are as grave by where they are."""
    return sorted(entries, key=lambda each: (SEVERITIES.index(each.severity), each.source, each.namespace, each.name))


def finding_rows(report: Report) -> list[Row]:
    return [
        (each.severity, each.type, each.namespace, each.object, each.container, each.message, _place(each))
        for each in gravest_first(report.entries)
    ]


def _place(entry: Entry) -> str:
    return f"{entry.source}:{entry.line}" if entry.source else ""


def score_rows(scores: tuple[ScoreLine, ...]) -> list[Row]:
    return [(each.title, str(each.score), str(each.pods), str(each.violations), each.classification) for each in scores]
