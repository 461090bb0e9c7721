"""`homeostat sync context list`: the contexts of the catalog."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.flags import SHOW_SECRETS
from homeostat.cli.sync.console.output import is_text, print_value
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.operators.sync.context.document import masked


@click.command("list", short_help="List the contexts.")
@SHOW_SECRETS
@sync_command()
async def command(run: Run, show_secrets: bool) -> None:
    """List the contexts.

    \b
    Examples:
      homeostat sync context list
    """
    found = (await run.catalog()).contexts
    if is_text(run):
        click.echo("".join(f"{each['name']}\n" for each in found), nl=False)
    else:
        print_value(run, list(found) if show_secrets else masked(list(found)))
