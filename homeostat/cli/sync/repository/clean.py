"""`homeostat sync repository clean`: discards changes that were not committed."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.repository.commits import working_tree


@click.command("clean", short_help="Discard changes that were not committed.")
@sync_command(changes=True)
async def command(run: Run) -> None:
    """Discard changes that were not committed.

    \b
    Examples:
      homeostat sync repository clean
    """
    async with run.session(connects=False) as session:
        await working_tree(session).clean()
