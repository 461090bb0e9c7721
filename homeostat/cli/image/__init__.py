"""`homeostat image`: shows, previews, triggers and stops updates of image tags. Sub-commands are imported when used."""

from __future__ import annotations

from typing import Final

import click

from homeostat.cli.group import LazyGroup

COMMANDS: Final = {
    "status": "List the tracked Deployments, their tags and results.",
    "check": "Check what an update of a Deployment would do.",
    "update": "Update Deployments now, or files of a checkout.",
    "pin": "Stop updates of Deployments.",
    "unpin": "Resume updates of Deployments.",
}


@click.command(
    cls=LazyGroup, package=__name__, members=COMMANDS, short_help="Show, preview and stop updates of image tags."
)
def command() -> None:
    """Work with the updates of image tags in manifests repositories, which annotations of Deployments ask for.

    \b
    Examples:
      homeostat image status
      homeostat image check shop/web
      homeostat image update --dry-run shop/web
      homeostat image pin shop/web
      homeostat image update --path . --image org/app --tag 1.5.0 --dry-run
    """
