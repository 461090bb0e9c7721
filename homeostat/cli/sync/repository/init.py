"""`homeostat sync repository init`: creates the repository where there is none."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.repository.commits import create_repository


@click.command("init", short_help="Create the repository.")
@sync_command(changes=True)
async def command(run: Run) -> None:
    """Create the repository.

    \b
    Examples:
      homeostat sync repository init
    """
    async with run.session(connects=False) as session:
        await create_repository(session)
