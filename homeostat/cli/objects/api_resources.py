"""`homeostat api-resources`: lists the kinds that a server serves, with the words that name them."""

from __future__ import annotations

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.table import Table
from homeostat.cli.objects.kinds import discover


@click.command(short_help="List the kinds that a server serves.")
@click.option("--api-group", metavar="GROUP", help="Only kinds of this group; an empty text for the core group.")
@connected
async def command(connection: Connection, api_group: str | None) -> None:
    """List the kinds that a server serves, and the short names by which other commands accept them.

    \b
    Examples:
      homeostat api-resources
      homeostat api-resources --api-group apps
    """
    kinds = [kind for kind in await discover(connection.client) if api_group in {None, kind.group}]
    rows = [
        [kind.plural, ",".join(kind.short_names), kind.api_version, kind.is_namespaced, kind.kind] for kind in kinds
    ]
    Table(["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]).print(rows)
