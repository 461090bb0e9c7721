"""A report as rows, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from homeostat.objects.report.report import SEVERITIES, Entry, Report, Summary, Terms

_RANKS: Final = {each: rank for rank, each in enumerate(SEVERITIES)}

Row = tuple[str, ...]


def finding_headings(terms: Terms) -> Row:
    return ("SEVERITY", "CHECK", "NAMESPACE", "OBJECT", terms.part.upper(), "MESSAGE", "SOURCE")


def summary_headings(terms: Terms) -> Row:
    score = ("SCORE",) if terms.has_scores else ()
    return (terms.origin.upper(), *score, terms.subjects.upper(), terms.findings.upper(), "STATUS")


def gravest_first(entries: Iterable[Entry]) -> list[Entry]:
    """Entries of one severity by where they are."""
    return sorted(entries, key=lambda each: (_RANKS[each.severity], each.source, each.namespace, each.name))


def finding_rows(report: Report) -> list[Row]:
    return [
        (each.severity, each.type, each.namespace, each.object, each.part, each.message, each.location)
        for each in gravest_first(report.entries)
    ]


def remedy_rows(report: Report) -> list[Row]:
    """What to do about each type of finding, in the order of the findings."""
    types = dict.fromkeys(each.type for each in gravest_first(report.entries))
    return [(each, report.terms.remedies[each]) for each in types if each in report.terms.remedies]


def summary_rows(summaries: Sequence[Summary], terms: Terms) -> list[Row]:
    return [
        (
            each.title,
            *((score_text(each),) if terms.has_scores else ()),
            str(each.subjects),
            str(each.findings),
            status_text(each, terms),
        )
        for each in summaries
    ]


def score_text(summary: Summary) -> str:
    """Empty also for the score of nothing, which is 100 in JSON."""
    return "" if summary.score is None or not (summary.subjects or summary.findings) else str(summary.score)


def status_text(summary: Summary, terms: Terms) -> str:
    is_score_of_nothing = summary.score is not None and not (summary.subjects or summary.findings)
    return f"no {terms.subjects}" if terms.has_scores and is_score_of_nothing else summary.classification
