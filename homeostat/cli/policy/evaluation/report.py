"""Prints a report in one of several formats, to standard output or to a file."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import msgspec

from homeostat import __version__
from homeostat.cli.console.failure import print_error
from homeostat.cli.policy.files.lines import with_lines
from homeostat.cli.policy.files.policies import PolicyFailure
from homeostat.objects.report.report import Report
from homeostat.objects.report.table import finding_rows, gravest_first, summary_headings, summary_rows

F = TypeVar("F", bound=Callable[..., Any])
FORMS: Final = ("table", "json", "sarif", "github", "junit", "html")
_DEFAULT_ROWS: Final = 200
_HEADINGS: Final = ("SEVERITY", "CHECK", "OBJECT", "MESSAGE", "SOURCE")


def report_options(function: F) -> F:
    function = click.option(
        "--limit",
        default=_DEFAULT_ROWS,
        show_default=True,
        type=click.IntRange(0),
        help="Maximum rows of a table; 0 for all. Other formats are complete.",
    )(function)
    function = click.option(
        "--output-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Write to this file.",
    )(function)
    return click.option(
        "-o", "--output", type=click.Choice(FORMS), default="table", show_default=True, help="Output format."
    )(function)


def print_report(report: Report, *, output: str, output_file: Path | None, limit: int, heading: str) -> None:
    """Files that could not be read are also reported on standard error, in every format.

    JSON has the lines of documents; all other formats have the lines of fields, which takes a second pass.
    """
    for each in report.problems:
        print_error(f"{each.location}: {each.message}")
    if output_file is None and output == "table":
        _print_tables(report, limit, heading)
        return
    data = _rendered(report, output, limit, heading)
    if output_file is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        output_file.write_bytes(data)
    except OSError as error:
        raise PolicyFailure(f"cannot write {output_file}: {error.strerror}") from error


def _rendered(report: Report, output: str, limit: int, heading: str) -> bytes:
    match output:
        case "json":
            from homeostat.objects.report import json

            return json.render(report)
        case "sarif":
            from homeostat.objects.report import sarif

            return sarif.render(_with_lines(report), version=__version__)
        case "github":
            from homeostat.objects.report import github

            return github.render(_with_lines(report)).encode()
        case "junit":
            from homeostat.objects.report import junit

            return junit.render(_with_lines(report)).encode()
        case "html":
            from homeostat.objects.report import html

            return html.render(_with_lines(report)).encode()
    with redirect_stdout(io.StringIO()) as text:
        _print_tables(report, limit, heading)
    return text.getvalue().encode()


def _print_tables(report: Report, limit: int, heading: str) -> None:
    from homeostat.cli.console.table import Table

    shown = gravest_first(report.entries)[: limit or None]
    if shown:
        Table(_HEADINGS).print(map(_row, finding_rows(_with_lines(Report(tuple(shown))))))
        if len(report.entries) > len(shown):
            click.echo(f"... and {len(report.entries) - len(shown)} more; --limit 0 or -o json has them all")
        click.echo()
    Table((heading, *summary_headings(report.terms)[1:])).print(summary_rows(report.summaries))


def _with_lines(report: Report) -> Report:
    return msgspec.structs.replace(report, entries=with_lines(report.entries))


def _row(finding: tuple[str, ...]) -> tuple[str, ...]:
    """Without the container, which the message names."""
    severity, check, namespace, name, _, message, source = finding
    return severity, check, f"{namespace}/{name}", message, source
