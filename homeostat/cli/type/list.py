"""`homeostat type list`: the resource types of a server."""

from __future__ import annotations

import time

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.output import is_table, output_option, print_list, without_managed_fields
from homeostat.cli.console.table import Table
from homeostat.cli.type.stored import FoundType, found_type, list_types
from homeostat.objects.conditions import READY, find
from homeostat.objects.json import JsonObject
from homeostat.objects.time.age import Since, since
from homeostat.operators.actions.api import ResourceTypeStatus
from homeostat.operators.actions.types.naming import resource_kind


@click.command(short_help="List resource types.")
@output_option
@connected
async def command(connection: Connection, output: str) -> None:
    """List resource types: their names, their plugins, and whether resources can be created.

    \b
    Examples:
      homeostat type list
      homeostat type list -o name
    """
    found = await list_types(connection.client)
    if not is_table(output):
        print_list([without_managed_fields(each.obj) for each in found], output, name=_title)
    elif not found:
        click.echo("No resource types found; to add one: homeostat type add -f FILE", err=True)
    else:
        Table(("NAME", "VERSION", "RESOURCES", "PLUGIN", "READY", "AGE", "MESSAGE")).print(map(_row, found))


def _title(obj: JsonObject) -> str:
    return found_type(obj).title


def _row(found: FoundType) -> list[str]:
    spec, status = found.type.spec, found.type.read_status(ResourceTypeStatus)
    ready = find(status.conditions, READY)
    age = since(found.type.metadata.creation_timestamp)
    return [
        spec.name,
        spec.version,
        status.plural or resource_kind(spec).plural,
        spec.action.plugin,
        ready.status if ready is not None else "Unknown",
        age.text(time.time()) if isinstance(age, Since) else age,
        ready.message if ready is not None and ready.status != "True" else "",
    ]
