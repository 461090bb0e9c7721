"""`homeostat sync secret list`: the keys of secrets."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import is_text, print_value
from homeostat.cli.sync.console.run import Run, chosen_text, path_arguments, sync_command
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.paths.logical import parse
from homeostat.operators.sync.engine.secrets.keys import below, shown_key


@click.command("list", short_help="List the keys of secrets.")
@path_arguments
@click.option("-r", "--recursive", is_flag=True, help="Those of all resources below the path.")
@sync_command()
async def command(run: Run, path: str | None, path_option: str | None, recursive: bool) -> None:
    """List all keys, or those of a resource. No value is shown.

    \b
    Examples:
      homeostat sync secret list /customers -r
    """
    given = chosen_text(path, path_option) if path is not None or path_option is not None else None
    if given is not None and ":" in given:
        raise ValidationError(f'"{given}" names a secret; list takes a path, and `secret get {given}` prints the value')
    async with run.session(connects=False) as session:
        keys = await session.secrets.keys()
    found = sorted(map(shown_key, keys)) if given is None else below(keys, parse(given).path, is_recursive=recursive)
    if is_text(run):
        click.echo("".join(f"{each}\n" for each in found), nl=False)
    else:
        print_value(run, found)
