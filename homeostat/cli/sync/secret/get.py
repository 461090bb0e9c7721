"""`homeostat sync secret get`: prints a secret."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.secret.key import chosen_key, key_arguments


@click.command("get", short_help="Print a secret.")
@key_arguments
@sync_command()
async def command(run: Run, words: tuple[str, ...], path_option: str | None, key_option: str | None) -> None:
    """Print the value of a secret.

    \b
    Examples:
      homeostat sync secret get /customers/acme:/apiToken
    """
    key = chosen_key(words, path_option, key_option)
    async with run.session(connects=False) as session:
        found = await session.secrets.get(key)
        if run.settings.output in ("json", "yaml"):
            print_value(run, found)
        else:
            click.echo(found)
