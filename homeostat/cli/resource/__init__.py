"""`homeostat resource`: resources of declared types."""

from __future__ import annotations

from typing import Final

import click

from homeostat.cli.group import LazyGroup

COMMANDS: Final = {
    "apply": "Create or update the resources of files, and wait for them.",
    "list": "List resources of one type or of all.",
    "show": "Describe a resource: declaration, state, run, outputs.",
    "delete": "Delete resources, and the infrastructure behind them.",
    "reconcile": "Trigger reconciliation of resources now.",
    "cancel": "Cancel the runs of resources.",
    "history": "List past reconciliations, also of resources that are gone.",
    "logs": "Print what the run of a resource prints.",
    "outputs": "Print the outputs of a resource.",
    "watch": "Show resources and their phases, live.",
}


@click.command(
    cls=LazyGroup, package=__name__, members=COMMANDS, short_help="Apply, list, follow and delete resources of types."
)
def command() -> None:
    """Apply, list, follow and delete resources of declared types.

    A resource is named TYPE/NAME or TYPE NAME; TYPE as in `homeostat type`.

    \b
    Examples:
      homeostat resource apply -f orders.yaml --wait
      homeostat resource list
      homeostat resource show databasecluster/orders
      homeostat resource history databasecluster orders
    """
