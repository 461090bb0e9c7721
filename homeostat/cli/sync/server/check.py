"""`homeostat sync server check`: whether the managed server answers."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command


@click.command("check", short_help="Check that the server answers.")
@sync_command(changes=True)
async def command(run: Run) -> None:
    """Send a GET to the health check of the context, or to the server's address.

    \b
    Examples:
      homeostat sync server check
    """
    async with run.session() as session:
        await session.remote.check_health()
