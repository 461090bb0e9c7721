"""`homeostat resource logs`: what the run of a resource prints, or what the last one has printed."""

from __future__ import annotations

import asyncio
import sys
from typing import Final

import click
import msgspec

from homeostat.cli.connection import Connection, connected
from homeostat.cli.resourcecomplete import complete_resources
from homeostat.cli.resourcekinds import named_resources, resource_title
from homeostat.cli.resourcestate import status_of
from homeostat.client.base import Client
from homeostat.objects.declared import Metadata
from homeostat.objects.errors import NotFoundError
from homeostat.operators.actions.api import Resource, ResourceStatus
from homeostat.operators.actions.lastoutput import LastOutput, last_output, recorded_output

_LOOK_EVERY_S: Final = 1.0


@click.command(short_help="Print what the run of a resource prints.")
@click.argument("words", nargs=-1, required=True, metavar="TYPE/NAME", shell_complete=complete_resources)
@click.option("-f", "--follow", "is_followed", is_flag=True, help="Until the run has ended.")
@connected
async def command(connection: Connection, words: tuple[str, ...], is_followed: bool) -> None:
    """Print what the run of a resource prints; where none is under way, what the last one has printed.

    Of much the end is kept. What is printed shows after some seconds, and without secrets. Runs of other systems print
    there: `homeostat resource show` has the address.

    \b
    Examples:
      homeostat resource logs databasecluster/orders
      homeostat resource logs databasecluster/orders -f
    """
    targets = await named_resources(connection.client, words)
    if len(targets) != 1:
        raise click.UsageError("name one resource")
    kind, name = targets[0]
    title = resource_title(kind.kind, name)
    reader = _Reader(connection.client, kind.path(connection.namespace, name))
    printer = _Printer(title)
    output = await reader.read()
    printer.take(output)
    while is_followed and output.is_running:
        await asyncio.sleep(_LOOK_EVERY_S)
        output = await reader.read()
        printer.take(output)
    if not printer.has_printed:
        click.echo(f"{title}: {_silence(reader.status)}", err=True)


class _Reader:
    def __init__(self, client: Client, path: str) -> None:
        self._client, self._path = client, path
        self._resource = Resource(metadata=Metadata(""))
        self.status = ResourceStatus()

    async def read(self) -> LastOutput:
        """`NotFoundError` where the resource was never there."""
        try:
            obj = await self._client.get(self._path)
        except NotFoundError:
            if self.status.run is None:
                raise
            # Its last run has destroyed it, and is the last of its record.
            number = self.status.reconciliations + 1
            return await recorded_output(self._client, self._resource, number, self.status.run.ticket)
        self._resource = Resource(metadata=msgspec.convert(obj["metadata"], Metadata))
        self.status = status_of(obj)
        return await last_output(self._client, self._resource, self.status)


class _Printer:
    def __init__(self, title: str) -> None:
        self._title = title
        self._ticket, self._length = "", 0
        self.has_printed = False

    def take(self, output: LastOutput) -> None:
        """Prints what was not printed yet."""
        if output.ticket != self._ticket:
            self._ticket, self._length = output.ticket, 0
        fresh = output.length - self._length
        if fresh <= 0:
            return
        if fresh > len(output.text):
            click.echo(f"{self._title}: {fresh - len(output.text)} characters before this are not kept", err=True)
        sys.stdout.write(output.text[-fresh:])
        sys.stdout.flush()
        self._length, self.has_printed = output.length, True


def _silence(status: ResourceStatus) -> str:
    run = status.run
    if run is None:
        return "nothing was printed"
    if url := (run.handle or {}).get("url"):
        return f"the run to {run.purpose} is elsewhere: {url}"
    return f"the run to {run.purpose} has printed nothing yet; -f waits for it"
