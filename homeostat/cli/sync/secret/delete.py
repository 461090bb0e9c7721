"""`homeostat sync secret delete`: deletes a secret."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.secret.key import chosen_key, key_arguments


@click.command("delete", short_help="Delete a secret.")
@key_arguments
@sync_command(changes=True)
async def command(run: Run, words: tuple[str, ...], path_option: str | None, key_option: str | None) -> None:
    """Delete a secret.

    \b
    Examples:
      homeostat sync secret delete /customers/acme:/apiToken
    """
    key = chosen_key(words, path_option, key_option)
    async with run.session(connects=False) as session:
        await session.secrets.delete(key)
