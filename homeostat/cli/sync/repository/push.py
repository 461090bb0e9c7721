"""`homeostat sync repository push`: pushes commits to the remote."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.repository.commits import working_tree


@click.command("push", short_help="Push commits to the remote.")
@click.option("--force-push", is_flag=True, help="Replace the remote's branch.")
@sync_command(changes=True)
async def command(run: Run, force_push: bool) -> None:
    """Push commits to the remote.

    \b
    Examples:
      homeostat sync repository push
    """
    async with run.session(connects=False) as session:
        await working_tree(session).push(is_forced=force_push)
