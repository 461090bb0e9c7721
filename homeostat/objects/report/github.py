"""A report as workflow commands of GitHub Actions, which show as annotations of the changed files."""

from __future__ import annotations

from typing import Final

from homeostat.objects.report.report import Entry, Report, Severity

_COMMANDS: Final[dict[Severity, str]] = {"critical": "error", "high": "error", "medium": "warning", "low": "notice"}


def render(report: Report) -> str:
    lines = [_command(each) for each in report.entries]
    lines += [
        f"::error file={_property(each.source)},line={each.line},title=unreadable::{_data(each.message)}"
        for each in report.problems
    ]
    return "".join(f"{line}\n" for line in lines)


def _command(entry: Entry) -> str:
    place = f"file={_property(entry.source)},line={entry.line}," if entry.source else ""
    text = _data(f"{entry.object}: {entry.message}")
    return f"::{_COMMANDS[entry.severity]} {place}title={_property(entry.type)}::{text}"


def _data(text: str) -> str:
    """Escapes line breaks: one would end the command, and the rest could be another command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
