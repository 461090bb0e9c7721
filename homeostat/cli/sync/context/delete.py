"""`homeostat sync context delete`: deletes a context from the catalog."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.operators.sync.context.catalog import write_catalog


@click.command("delete", short_help="Delete a context.")
@click.argument("name")
@sync_command(changes=True)
async def command(run: Run, name: str) -> None:
    """Delete a context.

    \b
    Examples:
      homeostat sync context delete old
    """
    await write_catalog(run.catalog_path, (await run.catalog()).without(name))
