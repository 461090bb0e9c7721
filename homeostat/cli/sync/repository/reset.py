"""`homeostat sync repository reset`: resets the branch to the remote's."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.repository.commits import working_tree


@click.command("reset", short_help="Reset the branch to the remote's.")
@click.option("--hard", is_flag=True, help="Discard changes of files, too.")
@sync_command(changes=True)
async def command(run: Run, hard: bool) -> None:
    """Reset the branch to the remote's; without a remote, to the last commit.

    \b
    Examples:
      homeostat sync repository reset --hard
    """
    async with run.session(connects=False) as session:
        await working_tree(session).reset(is_hard=hard)
