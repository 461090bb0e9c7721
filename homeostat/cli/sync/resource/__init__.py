"""`homeostat sync resource`: one object or a collection, in the repository and on the server."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.options import SyncGroup

_OWN = ("get", "list", "save", "apply", "create", "delete", "diff", "explain")
_MORE = ("describe", "edit", "copy", "template", "request")
_MODULES = {each: f"resource.{each}" for each in (*_OWN, *_MORE)} | {"update": "resource.create:updating"}


@click.command(
    cls=SyncGroup,
    package="homeostat.cli.sync",
    members={
        "get": "Print a resource or a collection.",
        "list": "List the resources of a collection.",
        "save": "Save objects of the server, or input, into the repository.",
        "apply": "Make the server equal to the repository.",
        "create": "Create objects on the server, without comparing.",
        "update": "Update objects on the server, without comparing.",
        "delete": "Delete resources.",
        "diff": "Show what differs between the repository and the server.",
        "explain": "Show what apply would change.",
        "describe": "Describe a resource: its identity and operations.",
        "edit": "Edit a resource of the repository.",
        "copy": "Copy a resource in the repository.",
        "template": "Print a payload with its placeholders resolved.",
        "request": "Send one request with the credentials of the context.",
        "metadata": "Show and change metadata.",
        "defaults": "Show, infer and change defaults.",
    },
    modules=_MODULES,
    short_help="Read, compare, apply, save and delete resources.",
)
def command() -> None:
    """Read, compare, apply, save and delete resources.

    \b
    Examples:
      homeostat sync resource get /customers/acme
      homeostat sync resource apply /customers -r
    """
