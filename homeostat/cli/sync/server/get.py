"""`homeostat sync server get`: an address of the managed server, or the access token."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.external.rest.auth import OAuth2
from homeostat.operators.sync.engine.errors import ValidationError


@click.command("get", short_help="Print an address or the access token.")
@click.argument("what", type=click.Choice(["base-url", "token-url", "access-token"]))
@sync_command()
async def command(run: Run, what: str) -> None:
    """Print the address of the server, of its token endpoint, or a new access token.

    \b
    Examples:
      homeostat sync server get base-url
    """
    async with run.session() as session:
        server = session.remote
        if what == "base-url":
            click.echo(server.base)
            return
        if not isinstance(server.settings.auth, OAuth2):
            raise ValidationError("the server is not configured with oauth2")
        click.echo(server.settings.auth.token_url if what == "token-url" else await server.token())
