"""`homeostat sync resource metadata get`: the metadata that applies to a path."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.run import Run, path_arguments, sync_command
from homeostat.cli.sync.metadata.address import chosen_selector, document_session, overrides
from homeostat.operators.sync.engine.metadata.merge import merged
from homeostat.operators.sync.engine.metadata.rules import ENGINE


@click.command("get", short_help="Print the metadata that applies to a path.")
@path_arguments
@click.option("--overrides-only", is_flag=True, help="Only what documents say, without the engine's defaults.")
@sync_command()
async def command(run: Run, path: str | None, path_option: str | None, overrides_only: bool) -> None:
    """Print the effective metadata of a resource or collection.

    \b
    Examples:
      homeostat sync resource metadata get /customers/acme --overrides-only
    """
    selector = chosen_selector(path, path_option)
    async with document_session(run, selector) as session:
        found = overrides(session, selector)
        print_value(run, found if overrides_only else merged(ENGINE, found))
