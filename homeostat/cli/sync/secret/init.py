"""`homeostat sync secret init`: creates the secret store."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command


@click.command("init", short_help="Create the secret store.")
@sync_command(changes=True)
async def command(run: Run) -> None:
    """Create the secret store where there is none, and check that it opens.

    \b
    Examples:
      homeostat sync secret init
    """
    async with run.session(connects=False) as session:
        await session.secrets.open()
