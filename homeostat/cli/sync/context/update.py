"""`homeostat sync context update`: replaces a context of the same name."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.flags import CONTEXT
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.context.add import given_context


@click.command("update", short_help="Replace a context.")
@CONTEXT
@sync_command(changes=True)
async def command(run: Run, payload: str | None) -> None:
    """Replace a context.

    \b
    Examples:
      homeostat sync context update -f context.yaml
    """
    found, _ = await given_context(payload)
    await run.change_catalog(lambda catalog: catalog.updated(found))
