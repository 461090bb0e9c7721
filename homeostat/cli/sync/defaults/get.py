"""`homeostat sync resource defaults get`: the defaults that apply to a path."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.run import Run, chosen_target, path_arguments, sync_command


@click.command("get", short_help="Print the defaults that apply to a path.")
@path_arguments
@sync_command()
async def command(run: Run, path: str | None, path_option: str | None) -> None:
    """Print the effective defaults: the value with the used profiles over it.

    \b
    Examples:
      homeostat sync resource defaults get /customers/acme
    """
    target = chosen_target(path, path_option)
    async with run.session(target.path, connects=False) as session:
        rules = session.metadata.rules(target.path, is_collection=target.is_collection)
        print_value(run, rules.defaults or {})
