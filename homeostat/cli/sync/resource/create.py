"""`homeostat sync resource create`: creates objects on the server, without comparing."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, chosen_target, path_arguments, sync_command
from homeostat.cli.sync.resource.one_way import send_all


@click.command("create", short_help="Create objects on the server, without comparing.")
@path_arguments
@click.option("-r", "--recursive", is_flag=True, help="All resources below the path.")
@click.option("--refresh", is_flag=True, help="Save what the server made of it into the repository.")
@click.option("-f", "--payload", default=None, help="Send this payload instead of the repository's.")
@click.option("--content-type", default="", help="The format of the payload.")
@click.option("--http-method", default="", help="Use this method.")
@sync_command(changes=True)
async def command(
    run: Run,
    path: str | None,
    path_option: str | None,
    recursive: bool,
    refresh: bool,
    payload: str | None,
    content_type: str,
    http_method: str,
) -> None:
    """Create what the repository declares; the server's objects are not compared.

    \b
    Examples:
      homeostat sync resource create /customers/acme
    """
    await send_all(
        run,
        chosen_target(path, path_option),
        operation="create",
        recursive=recursive,
        refresh=refresh,
        payload=payload,
        form=content_type,
        method=http_method,
    )
