"""`homeostat sync repository`: the repository of the files."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.options import SyncGroup


@click.command(
    cls=SyncGroup,
    package=__name__,
    members={
        "init": "Create the repository.",
        "status": "Show uncommitted changes and the state beside the remote.",
        "tree": "Print the tree of directories.",
        "history": "Print the commits.",
        "commit": "Commit all changes.",
        "clean": "Discard changes that were not committed.",
        "reset": "Reset the branch to the remote's.",
        "check": "Check that the repository can be used.",
        "push": "Push commits to the remote.",
        "refresh": "Fetch from the remote.",
    },
    short_help="Show and change the repository of the files.",
)
def command() -> None:
    """Show and change the repository of the files.

    \b
    Examples:
      homeostat sync repository status
      homeostat sync repository commit -m "new customers"
    """
