"""`homeostat type delete`: deletes resource types that are not in use."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure
from homeostat.cli.objects.changes import versions_of
from homeostat.cli.resource.complete import complete_types
from homeostat.cli.type.stored import FoundType, found_type, list_types, one_type, siblings
from homeostat.client.base import Client
from homeostat.objects.conditions import READY, find
from homeostat.objects.errors import NotFoundError
from homeostat.operators.actions.api import RESOURCE_TYPE, ResourceTypeStatus
from homeostat.operators.actions.types.naming import resource_kind

_MOST_NAMED = 10


@click.command(short_help="Delete a resource type that is not in use.")
@click.argument("words", nargs=-1, required=True, metavar="TYPE[/VERSION]...", shell_complete=complete_types)
@click.option("--wait/--no-wait", "is_awaited", default=True, help="Return when it is gone.  [default: wait]")
@click.option("--timeout", "within_s", default=30, show_default=True, type=click.IntRange(1), help="Seconds to wait.")
@connected
async def command(connection: Connection, words: tuple[str, ...], is_awaited: bool, within_s: int) -> None:
    """Delete resource types. A type that is in use is not deleted; the error names its resources.

    \b
    Examples:
      homeostat type delete DatabaseCluster
      homeostat type delete DatabaseCluster/v1beta1 --no-wait
    """
    client = connection.client
    for word in words:
        types = await list_types(client)
        doomed = one_type(types, word)
        if not any(not each.type.is_terminating for each in siblings(types, doomed)):
            await _check_unused(client, doomed)
        await client.delete(RESOURCE_TYPE.kind.path("", doomed.type.metadata.name))
        if is_awaited:
            await _gone(client, doomed, within_s)
        click.echo(f"{doomed.title} {'is gone' if is_awaited else 'deleted'}")


async def _check_unused(client: Client, doomed: FoundType) -> None:
    """Refuses to delete the last version of a type that is in use."""
    try:
        items, _ = await client.list(resource_kind(doomed.type.spec).path(""))
    except NotFoundError:
        return
    if not items:
        return
    named = [f"{each['metadata']['namespace']}/{each['metadata']['name']}" for each in items[:_MOST_NAMED]]
    more = f" and {len(items) - _MOST_NAMED} more" if len(items) > _MOST_NAMED else ""
    noun = "resource is" if len(items) == 1 else "resources are"
    raise Failure(f"{doomed.title} is in use, {len(items)} {noun} of it: {', '.join(named)}{more}; delete them first")


async def _gone(client: Client, doomed: FoundType, within_s: float) -> None:
    metadata, why = doomed.type.metadata, ""
    versions = versions_of(client, RESOURCE_TYPE.kind, "", metadata.name)
    try:
        async with asyncio.timeout(within_s), aclosing(versions):
            async for obj in versions:
                if obj is None or obj["metadata"]["uid"] != metadata.uid:
                    return
                ready = find(found_type(obj).type.read_status(ResourceTypeStatus).conditions, READY)
                why = ready.message if ready is not None and ready.status != "True" else ""
    except TimeoutError as error:
        message = why or "does the operator actions run?"
        raise Failure(f"{doomed.title} is being deleted, but still exists after {within_s:.0f} s; {message}") from error
