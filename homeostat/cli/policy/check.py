"""`homeostat policy check`: checks manifests in files, without a cluster.

Exit codes: 0 passed, or nothing checked, 1 failed (`--fail-on`), 2 wrong usage or an invalid policy, 4 passed, but some
files could not be read.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Final

import click
import msgspec

from homeostat.cli.console.failure import one_line
from homeostat.cli.console.progress import progress
from homeostat.cli.files.sources import NoManifestsError, default_paths, find_files
from homeostat.cli.policy.evaluation.report import print_report, report_options
from homeostat.cli.policy.evaluation.selection import bundle_policy, chosen_policies, policy_options
from homeostat.cli.policy.evaluation.threshold import FAILED, UNREADABLE, Threshold, fail_on_option, is_failed
from homeostat.cli.policy.files.batch import Batch, read_batches
from homeostat.cli.policy.files.skipped import skipped_messages
from homeostat.objects.report.report import Report, Summary
from homeostat.operators.policy.document import PolicyDocument
from homeostat.operators.policy.engine.inspection import judge

_PROGRESS_FROM: Final = 200


@click.command(short_help="Check manifests, without a cluster.")
@click.argument("paths", nargs=-1, metavar="[FILE|DIR|-]...")
@policy_options
@fail_on_option(default="low")
@click.option("--fail-on-nothing", is_flag=True, help="Exit with 1 if nothing was checked.")
@report_options
def command(
    paths: tuple[str, ...],
    files: tuple[str, ...],
    bundles: tuple[str, ...],
    thresholds: tuple[Threshold, ...],
    fail_on_nothing: bool,
    output: str,
    output_file: Path | None,
    limit: int,
) -> None:
    """Check Pods, and the Pods that workloads would create, in YAML and JSON files. This needs no cluster.

    Directories are read recursively. Without a path, the command checks the current directory, or standard input if the
    directory has no manifests, and reports which. Without --policy and --bundle it uses the bundle baseline. It reports
    files that it cannot read, with the line, and checks the rest. If it checks nothing, because there is no Pod and no
    workload or because no selector matches, it says so on standard error and prints no score.

    \b
    Exit codes:
      0  passed, or nothing checked
      1  failed: findings or a score as --fail-on names them, or --fail-on-nothing
      2  wrong usage, or an invalid policy
      4  passed, but something could not be read

    \b
    Examples:
      homeostat policy check
      homeostat policy check manifests/
      homeostat policy check web.yaml --bundle hardened --fail-on high
      helm template ./chart | homeostat policy check - --policy policy.yaml
      homeostat policy check . -o sarif --output-file policy.sarif
      homeostat policy check manifests/ --fail-on-nothing
      homeostat policy check . -o github --fail-on 'score<80'
    """
    policies = chosen_policies(files, bundles, otherwise=bundle_policy("baseline"))
    try:
        found = find_files(paths or _default_paths())
    except NoManifestsError as error:
        raise click.UsageError(str(error)) from error
    read = _read(found, with_bodies=any(each.evaluator.needs_body for each in policies))
    report = _judge(read, policies)
    for text in skipped_messages(read.subjects, policies, report.summaries, files=len(found)):
        click.echo(one_line(text), err=True)
    print_report(report, output=output, output_file=output_file, limit=limit, heading="POLICY")
    if is_failed(thresholds, severities={each.severity for each in report.entries}, scores=report.summaries):
        sys.exit(FAILED)
    if fail_on_nothing and not any(each.subjects for each in report.summaries):
        sys.exit(FAILED)
    if report.problems:
        sys.exit(UNREADABLE)


def _default_paths() -> list[str]:
    (path,) = paths = default_paths()
    where = "standard input" if path == "-" else f"the current directory, {Path.cwd()}"
    click.echo(f"no path given; checking {where}", err=True)
    return paths


def _read(files: Sequence[str], *, with_bodies: bool) -> Batch:
    whole = Batch()
    batches = read_batches(files, with_bodies=with_bodies)
    # The progress bar starts a thread; the processes of the batches must be forked before it.
    first = next(batches)
    with progress("reading", len(files), worth=_PROGRESS_FROM) as advance:
        for count, batch in chain((first,), batches):
            whole.subjects += batch.subjects
            whole.budgets += batch.budgets
            whole.problems += batch.problems
            advance(count)
    return whole


def _judge(read: Batch, policies: Sequence[PolicyDocument]) -> Report:
    budgets = tuple(each.budget for each in read.budgets)
    report = judge(read.subjects, policies, now=time.time(), budgets=budgets)
    summaries = tuple(each if each.subjects else _unchecked(each) for each in report.summaries)
    return msgspec.structs.replace(report, problems=tuple(read.problems), summaries=summaries)


def _unchecked(summary: Summary) -> Summary:
    """Without Pods there is no score: 100 would look as if all was well."""
    return msgspec.structs.replace(summary, score=None, classification="Nothing checked")
