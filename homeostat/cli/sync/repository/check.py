"""`homeostat sync repository check`: checks that the repository can be used."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.repository.commits import working_tree
from homeostat.operators.sync.engine.errors import NotFoundError


@click.command("check", short_help="Check that the repository can be used.")
@sync_command(changes=True)
async def command(run: Run) -> None:
    """Check that the repository can be used.

    \b
    Examples:
      homeostat sync repository check
    """
    async with run.session(connects=False) as session:
        if session.is_git:
            await working_tree(session).check()
        elif not session.files.base.is_dir():
            raise NotFoundError(f"there is no directory {session.files.base}")
