"""`homeostat policy doctor`: the checks of `homeostat doctor` for this operator alone.

Exit codes: 0 all checks passed, 1 a check failed, 3 the server did not answer.
"""

from __future__ import annotations

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.doctor.operators import check_operator, served_kinds
from homeostat.cli.doctor.report import exit_by, print_findings
from homeostat.cli.doctor.server import check_version
from homeostat.operators.catalog import find_operator
from homeostat.operators.policy.access import operator_rules


@click.command(short_help="Check the connection and the permissions.")
@click.option("--read-only", is_flag=True, help="Without the permission to change workloads: no enforcement.")
@connected
async def command(connection: Connection, read_only: bool) -> None:
    """Check everything that the operator and its webhook need from a cluster, without changing anything.

    The permissions are those of the kubeconfig. Leases for leader election are checked in --namespace. A cluster
    without the webhook is fine; then Pods are not checked at admission. To check the server as well, and all
    operators: homeostat doctor.

    \b
    Exit codes:
      0  all checks passed
      1  a check failed
      3  the server did not answer

    \b
    Examples:
      homeostat policy doctor
      homeostat policy doctor --context staging --namespace kube-devops
    """
    client, rules = connection.client, operator_rules(can_enforce=not read_only)
    found = [check_version(await client.request("GET", "/version"))]
    kinds = await served_kinds(client)
    operator = find_operator("policy")
    found += [each async for each in check_operator(client, operator, kinds, leases=connection.namespace, rules=rules)]
    print_findings(found, "table")
    exit_by(found)
