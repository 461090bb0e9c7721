"""`homeostat sync resource metadata resolve`: what all documents together say of a path."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.run import Run, path_arguments, sync_command
from homeostat.cli.sync.metadata.address import chosen_selector, document_session, overrides


@click.command("resolve", short_help="Print what all documents together say.")
@path_arguments
@sync_command()
async def command(run: Run, path: str | None, path_option: str | None) -> None:
    """Print the merged documents that apply to a path.

    \b
    Examples:
      homeostat sync resource metadata resolve /customers/acme
    """
    selector = chosen_selector(path, path_option)
    async with document_session(run, selector) as session:
        print_value(run, overrides(session, selector))
