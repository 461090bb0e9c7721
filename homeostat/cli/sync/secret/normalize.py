"""`homeostat sync secret normalize`: prints a payload with its placeholders in their canonical form."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.flags import INPUT
from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.payloads import structured_input
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.operators.sync.engine.secrets.placeholders import normalized


@click.command("normalize", short_help="Print a payload with its placeholders in their canonical form.")
@INPUT
@sync_command()
async def command(run: Run, payload: str) -> None:
    """Print the payload with each placeholder as it would be saved.

    \b
    Examples:
      homeostat sync secret normalize -f customer.json
    """
    print_value(run, normalized(await structured_input(payload)))
