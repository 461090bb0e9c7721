"""`homeostat sync schema`: JSON Schemas of the files that people write."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.operators.sync.context.schema import NAMES, schema_of


@click.command("schema", short_help="Print the JSON Schema of a file.")
@click.argument("name", type=click.Choice(NAMES))
@sync_command()
async def command(run: Run, name: str) -> None:
    """Print the JSON Schema of a context, of the catalog, of a metadata document or of a bundle's manifest.

    \b
    Examples:
      homeostat sync schema metadata > metadata.schema.json
    """
    print_value(run, schema_of(name))
