"""`homeostat sync resource metadata`: the documents that say how resources are kept on the server."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.options import SyncGroup


@click.command(
    "metadata",
    cls=SyncGroup,
    package=__name__,
    members={
        "get": "Print the metadata that applies to a path.",
        "set": "Write the document of a path.",
        "unset": "Delete the document of a path.",
        "edit": "Edit the document of a path.",
        "resolve": "Print what all documents together say.",
        "render": "Print operations with their templates filled in.",
        "infer": "Infer metadata from the OpenAPI document.",
    },
    short_help="Show and change metadata.",
)
def command() -> None:
    """Show and change metadata.

    \b
    Examples:
      homeostat sync resource metadata get /customers/acme
      homeostat sync resource metadata set /customers/ -f metadata.yaml
    """
