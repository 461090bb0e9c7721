"""`homeostat api-resources`: lists the kinds that a server serves, with the words that name them."""

from __future__ import annotations

import click
import msgspec

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.output import is_table, output_option, print_list
from homeostat.cli.console.table import Table
from homeostat.cli.objects.kinds import Kind, discover
from homeostat.objects.json import JsonObject


@click.command(short_help="List the kinds that a server serves.")
@click.option("--api-group", metavar="GROUP", help="Only kinds of this group; an empty text for the core group.")
@output_option
@connected
async def command(connection: Connection, api_group: str | None, output: str) -> None:
    """List the kinds that a server serves, and the short names by which other commands accept them.

    \b
    Examples:
      homeostat api-resources
      homeostat api-resources --api-group apps
    """
    kinds = [kind for kind in await discover(connection.client) if api_group in {None, kind.group}]
    if not is_table(output):
        print_list([msgspec.to_builtins(kind) for kind in kinds], output, name=_full_name)
        return
    headings = ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
    is_wide = output == "wide"
    Table([*headings, "VERBS", "CATEGORIES"] if is_wide else headings).print(_row(kind, is_wide) for kind in kinds)


def _row(kind: Kind, is_wide: bool) -> list[object]:
    row = [kind.plural, ",".join(kind.short_names), kind.api_version, kind.is_namespaced, kind.kind]
    return [*row, ",".join(sorted(kind.verbs)), ",".join(kind.categories)] if is_wide else row


def _full_name(kind: JsonObject) -> str:
    return f"{kind['plural']}.{kind['group']}" if kind["group"] else str(kind["plural"])
