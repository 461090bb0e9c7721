"""`homeostat contract login`: stores the credentials of a registry."""

from __future__ import annotations

import base64
import os
import sys

import click

from homeostat.cli.contract.publish.credentials import change_credentials, host_of
from homeostat.cli.contract.session.result import ContractFailure, failures
from homeostat.cli.contract.session.settings import current_settings


@click.command(short_help="Store the credentials of a registry.")
@click.argument("registry", metavar="HOST")
@click.option("-u", "--username", metavar="USER", help="The user.  [required]")
@click.option("-p", "--password", metavar="PASSWORD", help="The password; prompted for without it.")
@click.option("--password-stdin", "is_stdin", is_flag=True, help="Read the password from standard input.")
def command(registry: str, username: str | None, password: str | None, is_stdin: bool) -> None:
    """Store user and password of the registry HOST in ~/.config/pacto/config.json, readable by you only.

    They are not sent now: the first command that uses the registry fails with HTTP 401 if they are wrong.

    A password on the command line is visible to other users of the machine: prefer the prompt or --password-stdin.

    \b
    Examples:
      homeostat contract login registry.example.org -u ann
      echo "$TOKEN" | homeostat contract login ghcr.io -u ann --password-stdin
    """
    current_settings()
    if not username:
        raise ContractFailure("--username is required")
    if ":" in username:
        raise ContractFailure("a user name cannot have a colon")
    host = host_of(registry)
    secret = password or _read_password(is_stdin=is_stdin)
    if not secret:
        raise ContractFailure("the password is empty")
    encoded = base64.b64encode(f"{username}:{secret}".encode()).decode()
    with failures():
        change_credentials(os.environ, lambda auths: auths.update({host: {"auth": encoded}}))
    click.echo(f"Login succeeded for {host}")


def _read_password(*, is_stdin: bool) -> str:
    if is_stdin or not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    entered: str = click.prompt("Password", hide_input=True, err=True)
    return entered
