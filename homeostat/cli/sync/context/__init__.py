"""`homeostat sync context`: the catalog of contexts."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.options import SyncGroup


@click.command(
    cls=SyncGroup,
    package=__name__,
    members={
        "add": "Add a context.",
        "update": "Replace a context.",
        "edit": "Edit a context.",
        "init": "Prepare the repository and the metadata of a context.",
        "list": "List the contexts.",
        "use": "Choose the current context.",
        "current": "Print the current context.",
        "show": "Print a context as the file has it.",
        "resolve": "Print a context with variables replaced.",
        "validate": "Check a context without adding it.",
        "check": "Check that a context's parts can be used.",
        "rename": "Rename a context.",
        "delete": "Delete a context.",
        "clean": "Forget credentials that were typed in this shell.",
        "session-hook": "Print the lines that keep typed credentials for a shell.",
        "migrate": "Rewrite the catalog in the current form.",
        "print-template": "Print a commented template of a context.",
    },
    modules={"session-hook": "session:hook", "clean": "session:clean"},
    short_help="Add, choose and check contexts.",
)
def command() -> None:
    """Add, choose and check contexts: a repository, a managed server, a secret store.

    \b
    Examples:
      homeostat sync context add -f context.yaml
      homeostat sync context use production
    """
