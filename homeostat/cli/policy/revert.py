"""`homeostat policy revert`: reverts what enforcement injected into a workload, and opts the workload out."""

from __future__ import annotations

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure
from homeostat.client.projection import Projection
from homeostat.operators.policy.api import OPT_OUT
from homeostat.operators.policy.enforcement.patch import injected_of, revert_of
from homeostat.operators.policy.live.workloads import WORKLOADS

_STRATEGIC = "application/strategic-merge-patch+json"
_MANAGER = "kube-devops-cli"


@click.command(short_help="Revert what enforcement injected into a workload.")
@click.argument("workloads", nargs=-1, required=True, metavar="KIND/NAME...")
@click.option("--opt-out/--no-opt-out", default=True, show_default=True, help="Exclude the workload from enforcement.")
@click.option("--dry-run", is_flag=True, help="Let the server check everything and store nothing.")
@connected
async def command(connection: Connection, workloads: tuple[str, ...], opt_out: bool, dry_run: bool) -> None:
    """Revert the probes and resources that enforcement injected. This starts a new rollout of the workload.

    Unless --no-opt-out is given, the workload gets the annotation that excludes it from enforcement; otherwise a
    policy in mode enforce would inject the same again at once.

    \b
    Examples:
      homeostat policy revert deployment/web --namespace shop
      homeostat policy revert statefulset/db daemonset/agent --dry-run
    """
    for word in workloads:
        click.echo(await _revert(connection, word, opt_out=opt_out, dry_run=dry_run))


async def _revert(connection: Connection, word: str, *, opt_out: bool, dry_run: bool) -> str:
    kind_name, _, name = word.partition("/")
    found = next((each for known, each in WORKLOADS.items() if known.lower() == kind_name.lower()), None)
    if found is None or not name:
        raise click.UsageError(f'"{word}" is not KIND/NAME with a kind of {", ".join(WORKLOADS).lower()}')
    kind, shape = found
    workload = await Projection(connection.client, kind, shape).get(name, connection.namespace)
    patch = revert_of(workload)
    if patch is None:
        raise Failure(f"{workload.key}: nothing to revert: enforcement injected nothing")
    patch["metadata"]["resourceVersion"] = workload.metadata.resource_version
    if opt_out:
        patch["metadata"]["annotations"][OPT_OUT] = "disabled"
    await connection.client.request(
        "PATCH",
        kind.path(connection.namespace, name),
        {"fieldManager": _MANAGER, "dryRun": "All" if dry_run else ""},
        body=patch,
        content_type=_STRATEGIC,
    )
    parts = "; ".join(f"{container}: {', '.join(each)}" for container, each in sorted(injected_of(workload).items()))
    later = ", and excluded from enforcement" if opt_out else ""
    return f"{workload.key} reverted ({parts}){later}{' (dry run)' if dry_run else ''}"
