"""`homeostat sync server check`: whether the managed server answers."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.operators.sync.session.session import Session


@click.command("check", short_help="Check that the server answers.")
@sync_command(changes=True)
async def command(run: Run) -> None:
    """Send a GET to the health check of the context, or to the server's address.

    \b
    Examples:
      homeostat sync server check
    """
    async with run.session() as session:
        await check_server(session)


async def check_server(session: Session) -> None:
    server = session.remote
    where = server.settings.health_check or "/"
    url = where if "://" in where else f"{server.base}/{where.lstrip('/')}"
    await server.send("GET", url, headers=dict(server.settings.headers))
