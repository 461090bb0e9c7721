"""`homeostat policy check`: manifests judged where they are written, before any cluster sees them.

Exit codes: 0 nothing at or above the bar, 1 findings at or above it, 2 wrong usage or a policy that means nothing,
4 nothing at or above the bar, but some of the files could not be read.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

import click
import msgspec

from homeostat.cli.policybatch import Batch, read_batches
from homeostat.cli.policychoice import bundle_policy, chosen_policies, policy_options
from homeostat.cli.policyreport import print_report, report_options
from homeostat.cli.policysources import NoManifestsError, find_files
from homeostat.operators.policy.check import SEVERITIES, is_as_grave
from homeostat.operators.policy.document import PolicyDocument
from homeostat.operators.policy.inspection import judge
from homeostat.operators.policy.report.report import Report

_FOUND: Final = 1
_UNREADABLE: Final = 4
_score_below = re.compile(r"score\s*<\s*(\d{1,3})").fullmatch


class Bar(Protocol):
    """Whether a report is so bad that the command fails."""

    def __call__(self, report: Report) -> bool: ...


class BarType(click.ParamType[Bar]):
    name = "bar"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Bar:
        bar = _bar_of(str(value).strip().lower())
        if bar is None:
            self.fail(f"{value!r} is no bar; expected {', '.join(SEVERITIES)}, score<80 or never", param, ctx)
        return bar


def _bar_of(text: str) -> Bar | None:
    severity = next((each for each in SEVERITIES if each == text), None)
    if severity is not None:
        return lambda report: any(is_as_grave(each.severity, severity) for each in report.entries)
    if found := _score_below(text):
        bound = int(found[1])
        return lambda report: any(each.score < bound for each in report.scores)
    return (lambda report: False) if text == "never" else None  # noqa: ARG005


@click.command(short_help="Judge manifests, without any cluster.")
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR|-...")
@policy_options
@click.option(
    "--fail-on",
    "bars",
    type=BarType(),
    multiple=True,
    default=["low"],
    show_default=True,
    metavar="SEVERITY|score<N|never",
    help="What ends with exit code 1: a finding so grave or graver, or a score below N. May be given several times.",
)
@report_options
def command(
    paths: tuple[str, ...],
    files: tuple[str, ...],
    bundles: tuple[str, ...],
    bars: tuple[Bar, ...],
    output: str,
    output_file: Path | None,
    limit: int,
) -> None:
    """Judge Pods, and the Pods that workloads would make, in YAML and JSON files. No cluster is asked.

    Directories are read with all that is below them. Without --policy and --bundle the bundle baseline counts. What
    cannot be read is told with its file and line, and the rest is judged.

    \b
    Exit codes:
      0  nothing at or above the bar
      1  findings at or above it (--fail-on)
      2  wrong usage, or a policy that means nothing
      4  nothing at or above the bar, but something could not be read

    \b
    Examples:
      homeostat policy check manifests/
      homeostat policy check web.yaml --bundle hardened --fail-on high
      helm template ./chart | homeostat policy check - --policy policy.yaml
      homeostat policy check . -o sarif --output-file policy.sarif
      homeostat policy check . -o github --fail-on 'score<80'
    """
    policies = chosen_policies(files, bundles, otherwise=bundle_policy("baseline"))
    try:
        found = find_files(paths)
    except NoManifestsError as error:
        raise click.UsageError(str(error)) from error
    report = _judge(found, policies)
    print_report(report, output=output, output_file=output_file, limit=limit, heading="POLICY")
    if any(bar(report) for bar in bars):
        sys.exit(_FOUND)
    if report.troubles:
        sys.exit(_UNREADABLE)


def _judge(files: Sequence[str], policies: Sequence[PolicyDocument]) -> Report:
    whole = Batch()
    with_bodies = any(each.evaluator.needs_body for each in policies)
    with _progress(len(files)) as advance:
        for count, batch in read_batches(files, with_bodies=with_bodies):
            whole.subjects += batch.subjects
            whole.budgets += batch.budgets
            whole.troubles += batch.troubles
            advance(count)
    budgets = tuple(each.budget for each in whole.budgets)
    report = judge(whole.subjects, policies, now=time.time(), budgets=budgets)
    return msgspec.structs.replace(report, troubles=tuple(whole.troubles))


class _Advance(Protocol):
    def __call__(self, count: int) -> None: ...


@contextmanager
def _progress(files: int) -> Iterator[_Advance]:
    """A bar on the terminal while it takes long enough to be worth one."""
    if files < 200 or not sys.stderr.isatty():
        yield lambda count: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("reading", total=files)
        yield lambda count: progress.advance(task, count)
