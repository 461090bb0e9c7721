"""`homeostat sync resource defaults profile`: named sets of defaults."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.options import SyncGroup


@click.command(
    "profile",
    cls=SyncGroup,
    package=__name__,
    members={"get": "Print a profile.", "edit": "Edit a profile.", "delete": "Delete a profile."},
)
def command() -> None:
    """Show named sets of defaults.

    \b
    Examples:
      homeostat sync resource defaults profile get /customers/ big
    """
