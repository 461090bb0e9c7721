"""`homeostat image pin`: stops updates of Deployments."""

from __future__ import annotations

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.image.targets import named_deployments, names_argument, read_known
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.images.api import IMAGE_UPDATE, owned
from homeostat.operators.images.engine.annotations import Tracked


@click.command(short_help="Stop updates of Deployments.")
@names_argument
@click.option("--reason", default="", help="The reason, stored in the ImageUpdate.")
@connected
async def command(connection: Connection, names: tuple[str, ...], reason: str) -> None:
    """Stop updates of Deployments: the tag in the manifests repository stays until the pin is removed.

    \b
    Examples:
      homeostat image pin shop/web --reason "the new version leaks memory"
      homeostat image unpin shop/web
    """
    tracked, known = await named_deployments(connection, names), await read_known(connection, is_required=True)
    for each in tracked:
        tag = known.status(each).tag or each.version
        await _pin(connection, each, {"tag": tag, "reason": reason or "pinned by hand"})
        click.echo(f"{each.key} pinned at {tag}")


async def _pin(connection: Connection, tracked: Tracked, pin: JsonObject) -> None:
    kind = IMAGE_UPDATE.kind
    path = kind.path(tracked.namespace, tracked.record)
    try:
        await connection.client.merge(path, {"spec": {"pin": pin}})
    except NotFoundError:
        await connection.client.create(kind.path(tracked.namespace), {**owned(tracked), "spec": {"pin": pin}})
