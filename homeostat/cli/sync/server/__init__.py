"""`homeostat sync server`: the managed server of a context."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.options import SyncGroup


@click.command(
    cls=SyncGroup,
    package=__name__,
    members={"get": "Print an address or the access token.", "check": "Check that the server answers."},
    short_help="Check the managed server and show its addresses.",
)
def command() -> None:
    """Check the managed server and show its addresses.

    \b
    Examples:
      homeostat sync server check
    """
