"""`homeostat sync resource template`: a payload with its placeholders resolved."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.flags import CONTENT_TYPE, PAYLOAD
from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.payloads import read_input
from homeostat.cli.sync.console.run import Run, chosen_target, path_arguments, sync_command
from homeostat.objects.json import JsonObject
from homeostat.operators.sync.engine.payload.codec import Payload, wrapped
from homeostat.operators.sync.session.desired import desired


@click.command("template", short_help="Print a payload with its placeholders resolved.")
@path_arguments
@PAYLOAD
@CONTENT_TYPE
@sync_command()
async def command(run: Run, path: str | None, path_option: str | None, payload: str | None, content_type: str) -> None:
    """Print what would be sent: defaults, files, forms and secrets in place. It shows secrets.

    \b
    Examples:
      homeostat sync resource template /customers/acme
    """
    target = chosen_target(path, path_option)
    given = await read_input(payload, content_type) if payload is not None else None
    async with run.session(target.path, connects=False) as session:
        print_value(run, described((await desired(session, target.path, given)).payload))


def described(payload: Payload) -> JsonObject:
    form = payload.form
    descriptor = {"PayloadType": form.type, "MediaType": form.media, "Extension": form.extension}
    return {"Value": wrapped(payload), "Descriptor": descriptor}
