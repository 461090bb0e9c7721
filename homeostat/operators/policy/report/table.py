"""A report as rows, for a terminal."""

from __future__ import annotations

from homeostat.operators.policy.check import SEVERITIES
from homeostat.operators.policy.report.report import Entry, Report, ScoreLine

FINDINGS = ("SEVERITY", "CHECK", "NAMESPACE", "OBJECT", "CONTAINER", "MESSAGE", "SOURCE")
SCORES = ("POLICY", "SCORE", "PODS", "VIOLATIONS", "STATUS")

Row = tuple[str, ...]


def finding_rows(report: Report) -> list[Row]:
    """The gravest first, then by where they are."""
    ordered = sorted(
        report.entries, key=lambda each: (SEVERITIES.index(each.severity), each.source, each.namespace, each.name)
    )
    return [
        (each.severity, each.type, each.namespace, each.object, each.container, each.message, _place(each))
        for each in ordered
    ]


def _place(entry: Entry) -> str:
    return f"{entry.source}:{entry.line}" if entry.source else ""


def score_rows(scores: tuple[ScoreLine, ...]) -> list[Row]:
    return [(each.title, str(each.score), str(each.pods), str(each.violations), each.classification) for each in scores]
