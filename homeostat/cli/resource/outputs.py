"""`homeostat resource outputs`: prints the outputs of a resource."""

from __future__ import annotations

import sys

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure
from homeostat.cli.console.output import is_table, output_option, print_object
from homeostat.cli.console.table import Table
from homeostat.cli.resource.complete import complete_resources
from homeostat.cli.resource.kinds import named_resources, resource_title
from homeostat.cli.resource.state import status_of
from homeostat.objects.errors import quoted
from homeostat.objects.json import Json


@click.command(short_help="Print the outputs of a resource.")
@click.argument("words", nargs=-1, required=True, metavar="TYPE/NAME", shell_complete=complete_resources)
@click.option("--key", default="", metavar="NAME", help="Print only this output; a text as it is, for scripts.")
@output_option
@connected
async def command(connection: Connection, words: tuple[str, ...], key: str, output: str) -> None:
    """Print the outputs of a resource: addresses, identifiers, whatever its plugin reports. They are not secret.

    \b
    Examples:
      homeostat resource outputs databasecluster/orders
      psql "$(homeostat resource outputs databasecluster/orders --key url)"
    """
    targets = await named_resources(connection.client, words)
    if len(targets) != 1:
        raise click.UsageError("expected one resource, as TYPE/NAME")
    kind, name = targets[0]
    outputs = status_of(await connection.client.get(kind.path(connection.namespace, name))).outputs
    title = resource_title(kind.kind, name)
    if key:
        if key not in outputs:
            raise Failure(f'{title} has no output "{key}"; it has: {", ".join(sorted(outputs)) or "none"}')
        _print_value(outputs[key])
    elif output == "name":
        click.echo("".join(f"{each}\n" for each in sorted(outputs)), nl=False)
    elif not is_table(output):
        print_object(outputs, output)
    elif not outputs:
        click.echo(f"{title} has no outputs.", err=True)
    else:
        Table(("OUTPUT", "VALUE")).print([each, _text(outputs[each])] for each in sorted(outputs))


def _print_value(value: Json) -> None:
    sys.stdout.write(f"{_text(value)}\n")


def _text(value: Json) -> str:
    return value if isinstance(value, str) else quoted(value)
