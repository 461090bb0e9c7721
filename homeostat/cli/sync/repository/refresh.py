"""`homeostat sync repository refresh`: fetches from the remote, and merges nothing."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.repository.commits import working_tree


@click.command("refresh", short_help="Fetch from the remote.")
@sync_command(changes=True)
async def command(run: Run) -> None:
    """Fetch from the remote.

    \b
    Examples:
      homeostat sync repository refresh
    """
    async with run.session(connects=False) as session:
        await working_tree(session).fetch()
