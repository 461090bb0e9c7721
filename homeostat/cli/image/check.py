"""`homeostat image check`: says what a pass would do for one Deployment, and why."""

from __future__ import annotations

import sys

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.image.preview import delivery_of, previews, signed_of
from homeostat.cli.image.targets import named_deployments, read_known


@click.command(short_help="Check what an update of a Deployment would do.")
@click.argument("name", metavar="NAMESPACE/NAME")
@click.option("--allow-file", is_flag=True, help="Allow repositories of this machine (file://).")
@connected
async def command(connection: Connection, name: str, allow_file: bool) -> None:
    """Check a Deployment: read its repositories, its file and its image, and say what a pass would do. Write nothing.

    The Secrets that its annotations name are read with your own permissions. Exits with 1 if the update fails.

    \b
    Examples:
      homeostat image check shop/web
    """
    tracked, known = await named_deployments(connection, [name]), await read_known(connection)
    has_failed = False
    for preview in await previews(connection.client, tracked, known, allows_file=allow_file):
        for each in preview.plan.settled:
            has_failed |= each.entry.action == "failed"
            click.echo(f"{each.tracked.key}: {each.entry.action}: {each.entry.message}")
        for due in preview.plan.updates:
            old = due.old or "no tag"
            click.echo(f"{due.tracked.key}: would be updated: {due.target.image} {old} -> {due.target.tag}")
            click.echo(f"  file   {due.path}, line {due.changes[0].line}")
            click.echo(
                f"  image  {f'not checked: {due.check}' if due.check else 'found in the registry'}{signed_of(due)}"
            )
            click.echo(f"  by     {delivery_of(due)}")
    if has_failed:
        sys.exit(1)
