"""`homeostat sync version`: the version, in the form of the original."""

from __future__ import annotations

import click

from homeostat import __version__
from homeostat.cli.sync.console.output import is_text, print_value
from homeostat.cli.sync.console.run import Run, sync_command


@click.command("version", short_help="Print the version.")
@sync_command()
async def command(run: Run) -> None:
    """Print the version.

    \b
    Examples:
      homeostat sync version -o json
    """
    if is_text(run):
        click.echo(f"homeostat {__version__}")
    else:
        print_value(run, {"version": __version__, "commit": "", "build_date": ""})
