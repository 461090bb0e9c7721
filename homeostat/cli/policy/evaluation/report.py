"""Prints a report of policies."""

from __future__ import annotations

from pathlib import Path

import msgspec

from homeostat.cli.console import report as console
from homeostat.cli.console.report import FORMS, report_options
from homeostat.cli.files.lines import with_lines
from homeostat.objects.report.report import Report
from homeostat.operators.policy.engine.location import with_line

__all__ = ["FORMS", "print_report", "report_options"]


def print_report(report: Report, *, output: str, output_file: Path | None, limit: int, heading: str) -> None:
    console.print_report(
        report, output=output, output_file=output_file, limit=limit, heading=heading, locate=_with_lines
    )


def _with_lines(report: Report) -> Report:
    return msgspec.structs.replace(report, entries=with_lines(report.entries, with_line))
