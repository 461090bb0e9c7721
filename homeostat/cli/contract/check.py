"""`homeostat contract check`: checks manifests or a live workload against a contract, as the operator would.

Exit codes: 0 compliant, 1 NonCompliant (with `--strict` also Warning), 2 wrong usage, 3 a server cannot be reached, 4
something could not be read.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Final

import click
import msgspec

from homeostat.cli.completion.words import complete_files
from homeostat.cli.console.connection import connection_options, reporting_errors
from homeostat.cli.console.report import print_report, report_options
from homeostat.cli.contract.session.settings import current_settings
from homeostat.cli.contract.target.checking import Checked, Request, check
from homeostat.cli.contract.target.workload import WorkloadType
from homeostat.cli.files.lines import with_lines
from homeostat.objects.report.json import print_json
from homeostat.objects.report.report import Report
from homeostat.operators.contracts.engine.checks.verdict import NON_COMPLIANT, UNKNOWN, WARNING
from homeostat.operators.contracts.engine.views.field import with_line

FAILED: Final = 1
UNREADABLE: Final = 4


@click.command(short_help="Check manifests or a live workload against a contract.")
@click.argument("contract", metavar="BUNDLE")
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE|DIR|-",
    shell_complete=complete_files,
    help="Manifests to check; - is standard input. Without this, the live cluster is checked.",
)
@click.option("--service", default="", metavar="NAME", help="The Service.  [default: found by name or selector]")
@click.option(
    "--workload",
    type=WorkloadType(),
    metavar="KIND/NAME",
    help="The workload.  [default: the Service's name, or found by the contract's]",
)
@connection_options
@click.option("--probe", "has_probes", is_flag=True, help="Send requests to the live health and metrics endpoints.")
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings, too.")
@report_options
def command(
    contract: str,
    files: tuple[str, ...],
    service: str,
    workload: tuple[str, str] | None,
    namespace: str,
    context: str,
    kubeconfig: str,
    has_probes: bool,
    strict: bool,
    output: str,
    output_file: Path | None,
    limit: int,
) -> None:
    """Check a Service and a workload against the contract BUNDLE, a directory or oci:// reference.

    With -f the objects are read from manifests, and no cluster is needed: this is the check for CI. Without it they are
    read from the live cluster. Both give the verdicts that the operator would give. Files may hold many objects: the
    Service and the workload are found by the name of the contract's service, by the selector of the Service, or because
    there is only one. Name them with --service and --workload otherwise. A finding has the line of its field.

    --probe sends requests to the health and metrics endpoints at http://SERVICE.NAMESPACE.svc, as the operator does:
    from a Pod, or over HTTP_PROXY. Without it, endpoints are not checked.

    \b
    Exit codes:
      0  Compliant, or Warning without --strict
      1  NonCompliant; with --strict also Warning
      2  wrong usage, or there is no such contract or file
      3  the cluster or the registry cannot be reached
      4  something could not be read, so that the result is incomplete

    \b
    Examples:
      homeostat contract check billing -f manifests/
      helm template ./chart | homeostat contract check billing -f - --strict
      homeostat contract check billing -f manifests/ -o github
      homeostat contract check oci://registry.example.org/contracts/billing -n shop
      homeostat contract check billing -n shop --workload StatefulSet/billing-db --service billing-db
      homeostat contract check billing -f manifests/ -o sarif --output-file contract.sarif
    """
    if files and (context or kubeconfig or has_probes):
        raise click.UsageError("-f reads manifests; it excludes --context, --kubeconfig and --probe")
    chosen = current_settings()
    request = Request(
        ref=contract,
        files=files,
        service=service,
        workload=workload,
        namespace=namespace,
        context=context,
        kubeconfig=kubeconfig,
        has_probes=has_probes,
    )
    with reporting_errors():
        checked = asyncio.run(check(chosen, request))
    form = "json" if output == "table" and chosen.output == "json" else output
    _print(checked, output=form, output_file=output_file, limit=limit)
    sys.exit(_exit_code(checked, is_strict=strict))


def _print(checked: Checked, *, output: str, output_file: Path | None, limit: int) -> None:
    print_report(
        checked.report,
        output=output,
        output_file=output_file,
        limit=limit,
        heading="CONTRACT",
        locate=_locate,
        as_json=lambda report: print_json(checked.fields(_locate(report))),
    )


def _locate(report: Report) -> Report:
    return msgspec.structs.replace(report, entries=with_lines(report.entries, with_line))


def _exit_code(checked: Checked, *, is_strict: bool) -> int:
    status = checked.evaluation.status
    if status == NON_COMPLIANT or (is_strict and status == WARNING):
        return FAILED
    return UNREADABLE if status == UNKNOWN or checked.problems else 0
