"""`homeostat sync context current`: the current context."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.flags import SHOW_SECRETS
from homeostat.cli.sync.console.output import is_text, print_value
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.operators.sync.context.document import masked


@click.command("current", short_help="Print the current context.")
@SHOW_SECRETS
@sync_command()
async def command(run: Run, show_secrets: bool) -> None:
    """Print the current context.

    \b
    Examples:
      homeostat sync context current
    """
    found = (await run.catalog()).context()
    if is_text(run):
        click.echo(found["name"])
    else:
        print_value(run, found if show_secrets else masked(found))
