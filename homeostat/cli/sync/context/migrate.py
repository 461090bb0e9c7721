"""`homeostat sync context migrate`: rewrites the catalog in the current form."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.operators.sync.engine.errors import NotFoundError


@click.command("migrate", short_help="Rewrite the catalog in the current form.")
@sync_command(changes=True)
async def command(run: Run) -> None:
    """Read the catalog, check it, and write it as YAML in the order of its fields, readable by its owner only.

    \b
    Examples:
      homeostat sync context migrate
    """
    if not run.catalog_path.exists():
        raise NotFoundError(f"there is no catalog {run.catalog_path}")
    await run.change_catalog(lambda catalog: catalog)
