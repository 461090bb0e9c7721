"""`homeostat resource delete`: deletes resources, and destroys the infrastructure behind them."""

from __future__ import annotations

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.objects.targets import Target
from homeostat.cli.resource.complete import complete_resources
from homeostat.cli.resource.requests import Requests
from homeostat.cli.resource.state import Goal
from homeostat.cli.resource.wait import Awaited, awaited, is_wanted, wait_options
from homeostat.objects.json import JsonObject


@click.command(short_help="Delete resources, and the infrastructure behind them.")
@click.argument("words", nargs=-1, required=True, metavar="TYPE/NAME...", shell_complete=complete_resources)
@wait_options()
@connected
async def command(connection: Connection, words: tuple[str, ...], is_awaited: bool | None, within_s: int) -> None:
    """Delete resources. Each stays, in the phase `deleting`, until its plugin has destroyed the infrastructure.

    Exits with 0 when they are gone (with --no-wait: when they are marked), and with 1 if one does not exist, cannot be
    destroyed or is not gone in time; the others are still deleted.

    \b
    Examples:
      homeostat resource delete databasecluster/orders --wait
      homeostat resource delete DatabaseCluster orders invoices
    """
    client = connection.client

    async def delete(target: Target) -> Awaited:
        path = target.kind.path(connection.namespace, target.name)
        # The answer to a delete may be a Status without the object.
        found: JsonObject = await client.get(path)
        await client.delete(path, _only(found["metadata"]["uid"]))
        return awaited(target.kind, found, Goal(is_gone=True))

    requests = Requests(connection)
    await requests.send(words, delete, done="marked for deletion")
    await requests.end(is_awaited=is_wanted(is_awaited), within_s=within_s)


def _only(uid: str) -> JsonObject:
    """Options that delete only the object with this uid, not a newer one of the same name."""
    return {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
