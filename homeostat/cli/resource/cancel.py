"""`homeostat resource cancel`: cancels the runs of resources."""

from __future__ import annotations

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure
from homeostat.cli.objects.targets import Target
from homeostat.cli.resource.complete import complete_resources
from homeostat.cli.resource.kinds import resource_title
from homeostat.cli.resource.requests import Requests
from homeostat.cli.resource.state import Goal, status_of
from homeostat.cli.resource.wait import Awaited, awaited
from homeostat.operators.actions.api import CANCEL


@click.command(short_help="Cancel the runs of resources.")
@click.argument("words", nargs=-1, required=True, metavar="TYPE/NAME...", shell_complete=complete_resources)
@connected
async def command(connection: Connection, words: tuple[str, ...]) -> None:
    """Cancel the runs of resources that are under way.

    A program that the operator runs is ended; a run of GitHub Actions or GitLab CI is cancelled there. What it has
    changed so far stays. The history records the run as cancelled, and the resource is reconciled again on request
    (homeostat resource reconcile) or after a change. Exits with 1 where nothing runs.

    \b
    Examples:
      homeostat resource cancel databasecluster/orders
      homeostat resource reconcile databasecluster/orders
    """

    async def cancel(target: Target) -> Awaited:
        path = target.kind.path(connection.namespace, target.name)
        found = await connection.client.get(path)
        run = status_of(found).run
        if run is None or run.outcome is not None:
            raise Failure(f"{resource_title(target.kind.kind, target.name)} has no run to cancel")
        stored = await connection.client.merge(path, {"metadata": {"annotations": {CANCEL: run.ticket}}})
        return awaited(target.kind, stored, Goal(stored["metadata"]["generation"], ""))

    requests = Requests(connection)
    await requests.send(words, cancel, done="cancellation requested")
    await requests.end(is_awaited=False, within_s=0)
