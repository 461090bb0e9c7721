"""`homeostat sync secret`: the secret store of a context, and payloads with placeholders."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.options import SyncGroup


@click.command(
    cls=SyncGroup,
    package=__name__,
    members={
        "init": "Create the secret store.",
        "set": "Store a secret.",
        "get": "Print a secret.",
        "delete": "Delete a secret.",
        "list": "List the keys of secrets.",
        "mask": "Store the secrets of a payload and print it with placeholders.",
        "resolve": "Print a payload with its secrets in place.",
        "normalize": "Print a payload with its placeholders in their canonical form.",
        "detect": "Find attributes that look like secrets.",
    },
    former={"store": "set"},
    short_help="Store, list and resolve secrets.",
)
def command() -> None:
    """Store, list and resolve secrets.

    \b
    Examples:
      homeostat sync secret set /customers/acme:/apiToken s3cr3t
      homeostat sync secret list /customers -r
    """
