"""`homeostat sync resource defaults`: the values that resources of a collection share."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.options import SyncGroup


@click.command(
    "defaults",
    cls=SyncGroup,
    package=__name__,
    members={
        "get": "Print the defaults that apply to a path.",
        "edit": "Edit the defaults of a path.",
        "infer": "Infer defaults from what resources share.",
        "config": "Show how defaults are put together.",
        "profile": "Show and delete profiles.",
    },
    short_help="Show, infer and change defaults.",
)
def command() -> None:
    """Show, infer and change defaults.

    \b
    Examples:
      homeostat sync resource defaults get /customers/acme
      homeostat sync resource defaults infer /customers/ --save
    """
