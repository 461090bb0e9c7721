"""`homeostat watch`: prints the changes of a kind or of one object, one row each, with the type of the event."""

from __future__ import annotations

import click

from homeostat.cli.completion.words import complete_targets
from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.selection import all_namespaces_option, selector_option
from homeostat.cli.objects.follow import follow
from homeostat.cli.objects.kinds import discover
from homeostat.cli.objects.targets import parse_targets


@click.command(short_help="Print objects as they change.")
@click.argument("words", nargs=-1, required=True, metavar="KIND [NAME]", shell_complete=complete_targets)
@all_namespaces_option
@selector_option
@connected
async def command(connection: Connection, words: tuple[str, ...], all_namespaces: bool, selector: str) -> None:
    """Print the current objects, then a row for each change: ADDED, MODIFIED, DELETED. Ctrl-C ends it.

    \b
    Examples:
      homeostat watch deployments -A
      homeostat watch cm settings
    """
    targets = parse_targets(await discover(connection.client), words)
    if len(targets) != 1:
        raise click.UsageError("watch follows one kind or one object")
    namespace = "" if all_namespaces else connection.namespace
    await follow(connection.client, targets[0], namespace, query={"labelSelector": selector}, with_event=True)
