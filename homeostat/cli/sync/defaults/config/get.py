"""`homeostat sync resource defaults config get`: the defaults block as documents have it."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.run import Run, path_arguments, sync_command
from homeostat.cli.sync.metadata.address import chosen_selector, document_session, overrides


@click.command("get", short_help="Print the defaults block of the metadata.")
@path_arguments
@sync_command()
async def command(run: Run, path: str | None, path_option: str | None) -> None:
    """Print the defaults block as documents have it, with includes.

    \b
    Examples:
      homeostat sync resource defaults config get /customers/
    """
    selector = chosen_selector(path, path_option)
    async with document_session(run, selector) as session:
        print_value(run, overrides(session, selector).get("resource", {}).get("defaults", {}))
