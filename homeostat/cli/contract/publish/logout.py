"""`homeostat contract logout`: removes the credentials of a registry."""

from __future__ import annotations

import os
from typing import Any

import click

from homeostat.cli.contract.publish.credentials import change_credentials, host_key, host_of
from homeostat.cli.contract.session.result import failures
from homeostat.cli.contract.session.settings import current_settings


@click.command(short_help="Remove the credentials of a registry.")
@click.argument("registry", metavar="HOST")
def command(registry: str) -> None:
    """Remove the credentials of the registry HOST that login stored. Those of Docker are not changed.

    \b
    Example:
      homeostat contract logout registry.example.org
    """
    current_settings()
    host = host_of(registry)
    removed: list[Any] = []

    def remove(auths: dict[str, Any]) -> None:
        keys = [each for each in auths if host_key(each) == host]
        removed.extend(auths.pop(each) for each in keys)

    with failures():
        change_credentials(os.environ, remove)
    click.echo(f"Logout succeeded for {host}" if removed else f"No stored credentials for {host}")
