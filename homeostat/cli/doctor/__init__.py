"""`homeostat doctor`: checks a data directory, a running plane, or operators and the cluster that they work on.

Exit codes: 0 no check failed, 1 a check failed, 3 the server did not answer.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

import click

from homeostat.cli.console.connection import connection_options, reporting_errors
from homeostat.cli.doctor.examination import Subject, examine
from homeostat.cli.doctor.report import exit_by, print_findings
from homeostat.cli.doctor.server import utc_now
from homeostat.cli.plane.data_directory import Directory
from homeostat.cli.plane.database import database_option

_FORMS: Final = ("table", "json", "yaml")


@click.command(short_help="Check a plane, a cluster or a data directory.")
@click.option("--data", type=Directory(), metavar="DIR", help="Check this data directory, and the plane on it.")
@database_option
@click.option(
    "--operators", default="", metavar="all|A,B", help="Operators to check.  [default: those whose kinds are installed]"
)
@click.option("--health", default="", metavar="URL", help="Check also the process of homeostat run with this address.")
@connection_options
@click.option("-o", "--output", type=click.Choice(_FORMS), default="table", show_default=True, help="How to print.")
def command(
    data: Path | None,
    database: Path | str | None,
    operators: str,
    health: str,
    namespace: str,
    context: str,
    kubeconfig: str,
    output: str,
) -> None:
    """Check connection, permissions, versions, disk, clock, certificates, leases, queues and objects.

    Nothing is changed. Each finding says what to do. The permissions are those of the kubeconfig; with that of an
    operator's service account they are the operator's. Leases for an election are checked in --namespace.

    \b
    Exit codes:
      0  no check failed; there may be warnings
      1  a check failed
      3  the server did not answer

    \b
    Examples:
      homeostat doctor
      homeostat doctor --data ~/.homeostat
      homeostat doctor --context staging --namespace homeostat --operators policy,images
      homeostat doctor --health http://127.0.0.1:8081 -o json
    """
    subject = Subject(
        data=data,
        database=database,
        kubeconfig=kubeconfig,
        context=context,
        namespace=namespace,
        operators=operators,
        health=health,
    )

    async def run() -> None:
        found = [each async for each in examine(subject, utc_now())]
        print_findings(found, output)
        exit_by(found)

    with reporting_errors():
        asyncio.run(run())
