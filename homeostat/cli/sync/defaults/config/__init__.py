"""`homeostat sync resource defaults config`: how defaults are put together."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.options import SyncGroup


@click.command(
    "config",
    cls=SyncGroup,
    package=__name__,
    members={
        "get": "Print the defaults block of the metadata.",
        "edit": "Edit the defaults block of the metadata.",
    },
)
def command() -> None:
    """Show how defaults are put together.

    \b
    Examples:
      homeostat sync resource defaults config get /customers/
    """
