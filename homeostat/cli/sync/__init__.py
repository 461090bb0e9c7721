"""`homeostat sync`: a REST API beside files in a repository, compared and applied. The commands are those of the
original.

Exit codes: 0 success, 2 invalid input, 3 not found, 4 refused credentials, 5 conflict, 6 the server cannot be
reached, 7 a plan that would change something, 1 anything else.
"""

from __future__ import annotations

import click

from homeostat.cli.sync.console.options import SyncGroup


@click.command(
    cls=SyncGroup,
    package=__name__,
    members={
        "resource": "Read, compare, apply, save and delete resources.",
        "plan": "Show what a sync would do.",
        "apply-plan": "Carry out a saved plan.",
        "prune": "Delete objects that are ours and no longer declared.",
        "import": "Save all objects of a server into the repository.",
        "repository": "Show and change the repository of the files.",
        "secret": "Store, list and resolve secrets.",
        "context": "Add, choose and check contexts.",
        "bundle": "Show and use metadata bundles.",
        "server": "Check the managed server and show its addresses.",
        "schema": "Print the JSON Schema of a file.",
        "completion": "Print the completion script of a shell.",
        "version": "Print the version.",
    },
    short_help="Keep a REST API equal to files in a repository.",
)
def command() -> None:
    """Keep the objects of a REST API equal to files in a repository.

    \b
    Examples:
      homeostat sync context add -f context.yaml
      homeostat sync import
      homeostat sync resource diff /customers -r
      homeostat sync resource apply /customers -r
    """
