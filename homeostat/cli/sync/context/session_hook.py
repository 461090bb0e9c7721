"""`homeostat sync context session-hook`: the lines with which a shell keeps typed credentials until it ends."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command

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
async def command(_: Run, shell: str) -> None:
    """Print what a shell has to run, so that credentials with `persistInSession` are asked for once until it ends.

    \b
    Examples:
      eval "$(homeostat sync context session-hook bash)"
    """
    click.echo(_HOOKS[shell], nl=False)
