"""`homeostat sync context delete`: deletes a context from the catalog."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command


@click.command("delete", short_help="Delete a context.")
@click.argument("name")
@sync_command(changes=True)
async def command(run: Run, name: str) -> None:
    """Delete a context.

    \b
    Examples:
      homeostat sync context delete old
    """
    await run.change_catalog(lambda catalog: catalog.without(name))
