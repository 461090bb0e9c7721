"""A report as JSON, for programs: stable names, no times, equal reports give equal bytes."""

from __future__ import annotations

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.report.report import Entry, Report, Summary, Terms


def render(report: Report) -> bytes:
    return print_json(report_fields(report))


def report_fields(report: Report) -> JsonObject:
    """The report as JSON, for a caller that has more to say."""
    terms = report.terms
    return {
        "scores": [_summary(each, terms) for each in report.summaries],
        terms.findings: [_entry(each, terms) for each in report.entries],
        "errors": [msgspec.to_builtins(each) for each in report.problems],
    }


def print_json(fields: JsonObject) -> bytes:
    return msgspec.json.format(msgspec.json.encode(fields), indent=2) + b"\n"


def _summary(summary: Summary, terms: Terms) -> JsonObject:
    return {
        "title": summary.title,
        "score": summary.score,
        "classification": summary.classification,
        terms.subjects: summary.subjects,
        terms.findings: summary.findings,
        "exempted": summary.exempted,
    }


def _entry(entry: Entry, terms: Terms) -> JsonObject:
    return {
        terms.origin: entry.origin,
        "kind": entry.kind,
        "namespace": entry.namespace,
        "name": entry.name,
        "type": entry.type,
        "severity": entry.severity,
        "message": entry.message,
        terms.part: entry.part,
        "source": entry.source,
        "line": entry.line,
    }
