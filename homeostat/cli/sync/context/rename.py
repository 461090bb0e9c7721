"""`homeostat sync context rename`: renames a context."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command


@click.command("rename", short_help="Rename a context.")
@click.argument("name")
@click.argument("new")
@sync_command(changes=True)
async def command(run: Run, name: str, new: str) -> None:
    """Rename a context.

    \b
    Examples:
      homeostat sync context rename old new
    """
    await run.change_catalog(lambda catalog: catalog.renamed(name, new))
