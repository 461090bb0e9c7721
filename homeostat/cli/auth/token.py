"""`homeostat auth token`: a short-lived token of a service account, issued by the API server."""

from __future__ import annotations

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.duration import Seconds
from homeostat.objects.json import JsonObject


@click.command(short_help="Print a short-lived token of a service account.")
@click.argument("account")
@click.option("--duration", type=Seconds(), default="1h", show_default=True, help="How long the token is valid.")
@connected
async def command(connection: Connection, account: str, duration: float) -> None:
    """Print a token of a service account, for a program or to sign in to the dashboard. The server may shorten it.

    \b
    Examples:
      homeostat auth token deployer -n ci
      homeostat auth token viewer -n default --duration 8h
    """
    spec: JsonObject = {"expirationSeconds": int(duration)}
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    path = f"/api/v1/namespaces/{connection.namespace}/serviceaccounts/{account}/token"
    click.echo((await connection.client.create(path, body))["status"]["token"])
