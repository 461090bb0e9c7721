"""Prints a report of a check in one of several formats, to standard output or to a file."""

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
from homeostat.cli.console.failure import UsageFailure, print_error
from homeostat.objects.report.report import Report
from homeostat.objects.report.table import finding_rows, gravest_first, remedy_rows, summary_headings, summary_rows

F = TypeVar("F", bound=Callable[..., Any])
Locate = Callable[[Report], Report]
"""Replaces the lines of documents with the lines of fields, which may take a second pass over the files."""
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


def print_report(
    report: Report,
    *,
    output: str,
    output_file: Path | None,
    limit: int,
    heading: str,
    locate: Locate,
    as_json: Callable[[Report], bytes] | None = None,
) -> None:
    """Files that could not be read are also reported on standard error, in every format. `as_json` replaces the JSON
    that all reports share, which has the lines of documents; all other formats have the lines that `locate` finds.
    """
    for each in report.problems:
        print_error(f"{each.location}: {each.message}")
    if output_file is None and output == "table":
        _print_tables(report, limit, heading, locate)
        return
    data = as_json(report) if as_json and output == "json" else _rendered(report, output, limit, heading, locate)
    if output_file is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        output_file.write_bytes(data)
    except OSError as error:
        raise UsageFailure(f"cannot write {output_file}: {error.strerror}") from error


def _rendered(report: Report, output: str, limit: int, heading: str, locate: Locate) -> bytes:
    match output:
        case "json":
            from homeostat.objects.report import json

            return json.render(report)
        case "sarif":
            from homeostat.objects.report import sarif

            return sarif.render(locate(report), version=__version__)
        case "github":
            from homeostat.objects.report import github

            return github.render(locate(report)).encode()
        case "junit":
            from homeostat.objects.report import junit

            return junit.render(locate(report)).encode()
        case "html":
            from homeostat.objects.report import html

            return html.render(locate(report)).encode()
        case "table":
            return _table(report, limit, heading, locate)
    raise AssertionError(f"{output} is in FORMS and has no renderer")


def _table(report: Report, limit: int, heading: str, locate: Locate) -> bytes:
    with redirect_stdout(io.StringIO()) as text:
        _print_tables(report, limit, heading, locate)
    return text.getvalue().encode()


def _print_tables(report: Report, limit: int, heading: str, locate: Locate) -> None:
    from homeostat.cli.console.table import Table

    shown = gravest_first(report.entries)[: limit or None]
    if shown:
        Table(_HEADINGS).print(map(_row, finding_rows(locate(msgspec.structs.replace(report, entries=tuple(shown))))))
        if len(report.entries) > len(shown):
            click.echo(f"... and {len(report.entries) - len(shown)} more; --limit 0 or -o json has them all")
        click.echo()
        if remedies := remedy_rows(report):
            Table(("CHECK", "WHAT TO CHANGE")).print(remedies)
            click.echo()
    Table((heading, *summary_headings(report.terms)[1:])).print(summary_rows(report.summaries, report.terms))


def _row(finding: tuple[str, ...]) -> tuple[str, ...]:
    """Without the part, which the message names."""
    severity, check, namespace, name, _, message, source = finding
    return severity, check, f"{namespace}/{name}" if namespace else name, message, source
