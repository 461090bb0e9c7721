"""`homeostat sync context clean`: forgets credentials that were typed in this shell."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.operators.sync.context.prompt import forget
from homeostat.operators.sync.engine.errors import ValidationError


@click.command("clean", short_help="Forget credentials that were typed in this shell.")
@click.option("--credentials-in-session", is_flag=True, help="Forget the credentials of this session.")
@sync_command(changes=True)
async def command(run: Run, credentials_in_session: bool) -> None:
    """Delete what prompts have kept for this session. `context session-hook` does so when the shell ends.

    \b
    Examples:
      homeostat sync context clean --credentials-in-session
    """
    if not credentials_in_session:
        raise ValidationError("clean needs to know what; pass --credentials-in-session")
    forget(run.environment)
