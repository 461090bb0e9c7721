"""`homeostat type`: resource types, from which a server gets kinds of resources."""

from __future__ import annotations

from typing import Final

import click

from homeostat.cli.group import LazyGroup

COMMANDS: Final = {
    "add": "Create or update the resource types of files.",
    "list": "List resource types.",
    "show": "Describe a resource type: fields, plugin, state.",
    "delete": "Delete a resource type that is not in use.",
}


@click.command(
    cls=LazyGroup, package=__name__, members=COMMANDS, short_help="Add, list, show and delete resource types."
)
def command() -> None:
    """Add, list, show and delete resource types: the schema of resources, and the plugin that reconciles them.

    A type is named as it was declared (DatabaseCluster, database-cluster), by its plural or by a short name, with
    /VERSION where there are several.

    \b
    Examples:
      homeostat type add -f databasecluster.yaml
      homeostat type list
      homeostat type show DatabaseCluster
      homeostat type delete DatabaseCluster/v1
    """
