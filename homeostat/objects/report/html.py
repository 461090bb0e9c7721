"""A report as one HTML page: no scripts, nothing loaded from elsewhere, everything escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from homeostat.objects.report.report import SEVERITIES, Report, Summary, Terms
from homeostat.objects.report.table import finding_headings, finding_rows, score_text, status_text

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --quiet: #777; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.cards { display: flex; flex-wrap: wrap; gap: 1rem; }
.card { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; min-width: 11rem; }
.card strong { display: block; font-size: 2rem; line-height: 1.2; }
.quiet { color: var(--quiet); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td { overflow-wrap: anywhere; }
.critical, .Critical { color: #d1242f; } .high, .Degraded { color: #bc4c00; }
.medium, .Stable { color: #9a6700; } .low, .Healthy { color: #1a7f37; }
"""


def render(report: Report, *, title: str = "") -> str:
    terms = report.terms
    title = title or f"{terms.topic.capitalize()} report"
    counts = {each: sum(entry.severity == each for entry in report.entries) for each in SEVERITIES}
    message = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or f"no {terms.findings}"
    sections = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(message)}; {len(report.problems)} files or objects could not be read.</p>",
        f'<div class="cards">{"".join(_card(each, terms) for each in report.summaries)}</div>',
    ]
    if report.entries:
        rows = (_finding(row) for row in finding_rows(report))
        headings = [each.capitalize() for each in finding_headings(terms)]
        sections.append(f"<h2>{terms.findings.capitalize()}</h2>{_table(headings, rows)}")
    if report.problems:
        rows = (_cells((f"{each.source}:{each.line}", each.message)) for each in report.problems)
        sections.append(f"<h2>Unreadable</h2>{_table(('Source', 'Message'), rows)}")
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    body = "\n".join(sections)
    return f'<!doctype html>\n<html lang="en"><head>{head}{view}</head>\n<body><main>\n{body}\n</main></body></html>\n'


def _card(summary: Summary, terms: Terms) -> str:
    name = escape(summary.classification)
    return (
        f'<div class="card">{escape(summary.title)}<strong class="{name}">{score_text(summary)}</strong>'
        f'<span class="{name}">{escape(status_text(summary, terms))}</span> '
        f'<span class="quiet">{summary.findings} {terms.findings}, {summary.subjects} {terms.subjects}</span></div>'
    )


def _table(headings: Sequence[str], rows: Iterable[str]) -> str:
    head = "".join(f'<th scope="col">{each}</th>' for each in headings)
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _finding(row: Sequence[str]) -> str:
    severity = escape(row[0])
    return f'<td class="{severity}">{severity}</td>{_cells(row[1:])}'


def _cells(texts: Sequence[str]) -> str:
    return "".join(f"<td>{escape(each)}</td>" for each in texts)
