"""`homeostat sync repository commit`: commits all changes."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.repository.commits import working_tree
from homeostat.operators.sync.engine.errors import ValidationError


@click.command("commit", short_help="Commit all changes.")
@click.option("-m", "--message", default="", help="The message.")
@sync_command(changes=True)
async def command(run: Run, message: str) -> None:
    """Commit all changes of the repository.

    \b
    Examples:
      homeostat sync repository commit -m "new customers"
    """
    if not message.strip():
        raise ValidationError("commit needs a message; pass -m")
    async with run.session(connects=False) as session:
        await working_tree(session).commit(message)
