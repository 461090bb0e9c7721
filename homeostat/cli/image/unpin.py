"""`homeostat image unpin`: resumes updates of Deployments."""

from __future__ import annotations

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.image.targets import named_deployments, names_argument, read_known
from homeostat.operators.images.api import IMAGE_UPDATE


@click.command(short_help="Resume updates of Deployments.")
@names_argument
@connected
async def command(connection: Connection, names: tuple[str, ...]) -> None:
    """Remove the pins of Deployments, whoever set them. The next pass updates them.

    \b
    Examples:
      homeostat image unpin shop/web
      homeostat image update shop/web
    """
    known = await read_known(connection, is_required=True)
    for each in await named_deployments(connection, names):
        found = known.find(each)
        if found is None or found.spec.pin is None:
            click.echo(f"{each.key} is not pinned")
            continue
        path = IMAGE_UPDATE.kind.path(each.namespace, each.record)
        await connection.client.merge(path, {"spec": {"pin": None}})
        click.echo(f"{each.key} unpinned; the next pass updates it (now: homeostat image update {each.key})")
