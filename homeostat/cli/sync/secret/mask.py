"""`homeostat sync secret mask`: stores the secrets of a payload and prints it with placeholders."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.flags import INPUT
from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.payloads import structured_input
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.secrets.detect import named
from homeostat.operators.sync.engine.secrets.keys import normal_key
from homeostat.operators.sync.engine.secrets.placeholders import OWN


@click.command("mask", short_help="Store the secrets of a payload and print it with placeholders.")
@INPUT
@sync_command()
async def command(run: Run, payload: str) -> None:
    """Store each detected secret under the name of its attribute.

    \b
    Examples:
      homeostat sync secret mask -f customer.json
    """
    value = await structured_input(payload)
    found = named(value)
    async with run.session(connects=False) as session:
        secrets = {normal_key(name): str(pointer.get(value, at)) for name, at in found.items()}
        for each in secrets.values():
            run.scrubber.hide(each)
        if secrets:
            await session.secrets.put(secrets)
        for at in found.values():
            value = pointer.put(value, at, OWN)
    print_value(run, value)
