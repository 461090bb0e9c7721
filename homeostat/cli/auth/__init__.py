"""`homeostat auth`: permissions, and tokens of service accounts. Sub-commands are imported when used."""

from __future__ import annotations

from typing import Final

import click

from homeostat.cli.group import LazyGroup

COMMANDS: Final = {
    "can-i": "Check whether you, or a user, may do something.",
    "grant": "Allow a user, a group or a service account to do something.",
    "who-can": "List who may do something, and by which binding.",
    "token": "Print a short-lived token of a service account.",
}


@click.command(cls=LazyGroup, package=__name__, members=COMMANDS, short_help="Check and grant permissions.")
def command() -> None:
    """Check and grant permissions of the Kubernetes API.

    \b
    Examples:
      homeostat auth can-i list pods -n shop
      homeostat auth can-i delete deployments --as anna -A
      homeostat auth who-can delete deploy -n shop
      homeostat auth grant list pods --user anna -n shop
      homeostat auth token viewer -n default --duration 8h
    """
