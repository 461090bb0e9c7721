"""`homeostat sync bundle`: metadata for the API of a product."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.options import SyncGroup


@click.command(
    cls=SyncGroup,
    package=__name__,
    members={
        "list": "List the bundles that come with Homeostat.",
        "show": "Fetch a bundle, check it and print what it has.",
        "use": "Use a bundle in the context.",
    },
    short_help="Show and use metadata bundles.",
)
def command() -> None:
    """Show and use metadata bundles.

    \b
    Examples:
      homeostat sync bundle list
      homeostat sync bundle use rabbitmq
    """
