"""`homeostat sync context use`: chooses the current context."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command


@click.command("use", short_help="Choose the current context.")
@click.argument("name")
@sync_command(changes=True)
async def command(run: Run, name: str) -> None:
    """Choose the current context.

    \b
    Examples:
      homeostat sync context use production
    """
    await run.change_catalog(lambda catalog: catalog.used(name))
