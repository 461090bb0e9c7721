"""`homeostat sync context session-hook` and `clean`: credentials that were typed, kept until a shell ends."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.operators.sync.context.prompt import forget
from homeostat.operators.sync.engine.errors import ValidationError

_SESSION = "export DECLAREST_PROMPT_AUTH_SESSION_ID=\"$$-$(od -An -N12 -tx1 /dev/urandom | tr -d ' \\n')\"\n"
_CLEAN = "homeostat sync context clean --credentials-in-session --skip-result-message"
_HOOKS = {
    "bash": f"{_SESSION}trap '{_CLEAN}' EXIT\n",
    "zsh": f"{_SESSION}autoload -Uz add-zsh-hook\n"
    f"_homeostat_sync_clean() {{ {_CLEAN}; }}\nadd-zsh-hook zshexit _homeostat_sync_clean\n",
}


@click.command("session-hook", short_help="Print the lines that keep typed credentials for a shell.")
@click.argument("shell", type=click.Choice(sorted(_HOOKS)))
@sync_command()
async def hook(_: Run, shell: str) -> None:
    """Print what a shell has to run, so that credentials with `persistInSession` are asked for once until it ends.

    \b
    Examples:
      eval "$(homeostat sync context session-hook bash)"
    """
    click.echo(_HOOKS[shell], nl=False)


@click.command("clean", short_help="Forget credentials that were typed in this shell.")
@click.option("--credentials-in-session", is_flag=True, help="Forget the credentials of this session.")
@sync_command(changes=True)
async def clean(run: Run, credentials_in_session: bool) -> None:
    """Delete what prompts have kept for this session. `context session-hook` does so when the shell ends.

    \b
    Examples:
      homeostat sync context clean --credentials-in-session
    """
    if not credentials_in_session:
        raise ValidationError("clean needs to know what; pass --credentials-in-session")
    forget(run.environment)
