"""`homeostat resource reconcile`: triggers a reconciliation of resources now."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.objects.targets import Target
from homeostat.cli.resource.complete import complete_resources
from homeostat.cli.resource.requests import Requests
from homeostat.cli.resource.state import Goal
from homeostat.cli.resource.wait import Awaited, awaited, wait_options
from homeostat.objects.time.timestamp import format_micro_time
from homeostat.operators.actions.api import REQUESTED


@click.command(short_help="Trigger reconciliation of resources now.")
@click.argument("words", nargs=-1, required=True, metavar="TYPE/NAME...", shell_complete=complete_resources)
@wait_options(is_usual=True)
@connected
async def command(connection: Connection, words: tuple[str, ...], is_awaited: bool, within_s: int) -> None:
    """Trigger reconciliation of resources now, and wait until it has ended unless --no-wait is given.

    For a resource that is being deleted this retries its destruction. Exits with 0 when all are ready, or gone, and
    with 1 where one fails or is not ready in time.

    \b
    Examples:
      homeostat resource reconcile databasecluster/orders
      homeostat resource reconcile DatabaseCluster orders invoices --no-wait
    """
    request = format_micro_time(datetime.now(UTC))
    patch = {"metadata": {"annotations": {REQUESTED: request}}}

    async def reconcile(target: Target) -> Awaited:
        stored = await connection.client.merge(target.kind.path(connection.namespace, target.name), patch)
        is_terminating = "deletionTimestamp" in stored["metadata"]
        goal = Goal(stored["metadata"]["generation"], request, is_gone=is_terminating)
        return awaited(target.kind, stored, goal)

    requests = Requests(connection)
    await requests.send(words, reconcile, done="reconciliation triggered")
    await requests.end(is_awaited=is_awaited, within_s=within_s)
