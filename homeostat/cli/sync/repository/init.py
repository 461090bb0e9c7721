"""`homeostat sync repository init`: creates the repository where there is none."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.repository.commits import working_tree


@click.command("init", short_help="Create the repository.")
@sync_command(changes=True)
async def command(run: Run) -> None:
    """Create the repository.

    \b
    Examples:
      homeostat sync repository init
    """
    async with run.session() as session:
        if session.is_git:
            await working_tree(session).init()
        else:
            session.files.base.mkdir(parents=True, exist_ok=True)
