"""A report as JUnit XML, as CI systems list test results: a suite for each summary, a failed case for each finding.

A summary without findings is one case that passed, or was skipped if nothing was checked. Unreadable places are a suite
of errors.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from homeostat.objects.report.report import Entry, Problem, Report


def render(report: Report) -> str:
    named = {each.origin for each in report.entries}
    # A cluster with findings has them under its policies, and has not passed.
    shown = [each for each in report.summaries if not each.findings or each.title in named]
    origins: dict[str, list[Entry]] = {each.title: [] for each in shown}
    unchecked = {each.title for each in shown if not each.subjects}
    for entry in report.entries:
        origins.setdefault(entry.origin, []).append(entry)
    suites = [
        _suite(title, map(_failed, entries), failures=len(entries), is_skipped=title in unchecked)
        for title, entries in origins.items()
    ]
    if report.problems:
        suites.append(_suite("unreadable", map(_unreadable, report.problems), errors=len(report.problems)))
    tests = sum(max(len(entries), 1) for entries in origins.values()) + len(report.problems)
    total = f'tests="{tests}" failures="{len(report.entries)}" errors="{len(report.problems)}"'
    body = "".join(suites)
    name = quoteattr(f"homeostat {report.terms.topic}")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name={name} {total}>\n{body}</testsuites>\n'


def _suite(title: str, cases: Iterable[str], *, failures: int = 0, errors: int = 0, is_skipped: bool = False) -> str:
    name = _attribute(title)
    outcome = '><skipped message="nothing checked"/></testcase>' if is_skipped else "/>"
    shown = "".join(cases) or f"    <testcase classname={name} name={name}{outcome}\n"
    skipped = ' skipped="1"' if is_skipped else ""
    counts = f'tests="{max(failures + errors, 1)}" failures="{failures}" errors="{errors}"{skipped}'
    return f"  <testsuite name={name} {counts}>\n{shown}  </testsuite>\n"


def _failed(entry: Entry) -> str:
    where = "/".join(each for each in (entry.kind, entry.namespace, entry.name, entry.part) if each)
    text = f"{entry.location}: {entry.message}" if entry.source else entry.message
    failure = f"<failure type={_attribute(entry.severity)} message={_attribute(entry.message)}>{_text(text)}</failure>"
    return _case(where, entry.type, entry.source, entry.line, failure)


def _unreadable(problem: Problem) -> str:
    text = f'<error type="unreadable" message={_attribute(problem.message)}/>'
    return _case(problem.source, problem.location, problem.source, problem.line, text)


def _case(group: str, name: str, source: str, line: int, outcome: str) -> str:
    place = f' file={_attribute(source)} line="{line}"' if source else ""
    named = f"classname={_attribute(group)} name={_attribute(name)}"
    return f"    <testcase {named}{place}>{outcome}</testcase>\n"


def _attribute(text: str) -> str:
    return quoteattr(_allowed(text))


def _text(text: str) -> str:
    return escape(_allowed(text))


def _allowed(text: str) -> str:
    """Removes what XML cannot express even when escaped: most control characters and lone surrogates."""
    return "".join(each if _is_allowed(ord(each)) else "\N{REPLACEMENT CHARACTER}" for each in text)


def _is_allowed(code: int) -> bool:
    return code in (0x9, 0xA, 0xD) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000
