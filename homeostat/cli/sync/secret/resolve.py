"""`homeostat sync secret resolve`: prints a payload with its secrets in place."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.flags import INPUT
from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.payloads import structured_input
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.secrets.keys import normal_key
from homeostat.operators.sync.engine.secrets.placeholders import needed


@click.command("resolve", short_help="Print a payload with its secrets in place.")
@INPUT
@sync_command()
async def command(run: Run, payload: str) -> None:
    """Replace placeholders by the secrets of their names; `{{secret .}}` stands for the name of its attribute.

    \b
    Examples:
      homeostat sync secret resolve -f masked.json
    """
    value = await structured_input(payload)
    async with run.session(connects=False) as session:
        for at, placeholder in needed(value).items():
            name = placeholder.name or pointer.parse(at)[-1]
            value = pointer.put(value, at, await session.secrets.get(normal_key(name)))
    print_value(run, value)
