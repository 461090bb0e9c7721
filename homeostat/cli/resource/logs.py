"""`homeostat resource logs`: prints the log of the current or last run of a resource.

The log goes to standard output; standard error says which run it is.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Final

import click
import msgspec

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.output import print_object
from homeostat.cli.resource.complete import complete_resources
from homeostat.cli.resource.kinds import named_resources, resource_title
from homeostat.cli.resource.state import status_of
from homeostat.client.base import Client
from homeostat.objects.declared import Metadata
from homeostat.objects.errors import NotFoundError
from homeostat.objects.time.timestamp import format_time, parse_time
from homeostat.operators.actions.api import Resource, ResourceStatus
from homeostat.operators.actions.runs.last_output import LastOutput, last_output, recorded_output

_POLL_S: Final = 1.0


@click.command(short_help="Print what the run of a resource prints.")
@click.argument("words", nargs=-1, required=True, metavar="TYPE/NAME", shell_complete=complete_resources)
@click.option("-f", "--follow", "is_followed", is_flag=True, help="Keep printing until the run has ended.")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(("json", "yaml")),
    help="The text, and which run it is of, as one object.",
)
@connected
async def command(connection: Connection, words: tuple[str, ...], is_followed: bool, form: str | None) -> None:
    """Print the log of a resource's current run, or of its last one, also if that only planned. Standard error shows
    which run it is, and how it ended.

    Long logs keep their end. Lines appear after some seconds, without secrets. Runs of other systems log there:
    `homeostat resource show` prints the address. `homeostat resource history -o yaml` has the logs of earlier runs.

    \b
    Examples:
      homeostat resource logs databasecluster/orders
      homeostat resource logs databasecluster/orders -f
      homeostat resource logs databasecluster/orders -o json
    """
    if is_followed and form:
        raise click.UsageError("pass -f or -o, not both: -f follows a text, -o prints one object")
    targets = await named_resources(connection.client, words)
    if len(targets) != 1:
        raise click.UsageError("expected one resource, as TYPE/NAME")
    kind, name = targets[0]
    title = resource_title(kind.kind, name)
    reader = _Reader(connection.client, kind.path(connection.namespace, name))
    output = await reader.read()
    if form:
        print_object({"resource": title, **msgspec.to_builtins(output)}, form)
        return
    printer = _Printer(title)
    printer.take(output)
    while is_followed and output.is_running:
        await asyncio.sleep(_POLL_S)
        output = await reader.read()
        printer.take(output)
    printer.end(output, reader.status)


class _Reader:
    def __init__(self, client: Client, path: str) -> None:
        self._client, self._path = client, path
        self._resource = Resource(metadata=Metadata(""))
        self.status = ResourceStatus()

    async def read(self) -> LastOutput:
        """Raises `NotFoundError` if the resource never existed."""
        try:
            obj = await self._client.get(self._path)
        except NotFoundError:
            if self.status.run is None:
                raise
            # Its last run destroyed it and is the last entry of its history.
            return await recorded_output(self._client, self._resource, self.status.reconciliations + 1)
        self._resource = Resource(metadata=msgspec.convert(obj["metadata"], Metadata))
        self.status = status_of(obj)
        return await last_output(self._client, self._resource, self.status)


class _Printer:
    def __init__(self, title: str) -> None:
        self._title = title
        self._shown = LastOutput()
        self._length, self._has_printed = 0, False

    def take(self, output: LastOutput) -> None:
        """Prints new output; when the run changes, first a heading."""
        if output.run != self._shown.run:
            self._shown, self._length, self._has_printed = output, 0, False
            self._say(_heading(output))
        fresh = output.length - self._length
        if fresh <= 0:
            return
        if fresh > len(output.text):
            self._say(f"{fresh - len(output.text)} characters before this are not kept")
        sys.stdout.write(output.text[-fresh:])
        sys.stdout.flush()
        self._length, self._has_printed = output.length, True

    def end(self, output: LastOutput, status: ResourceStatus) -> None:
        if not self._has_printed:
            self._say(_silence(status))
        if output.state != self._shown.state:
            self._say(_state(output))
        if output.error.strip().rpartition("\n")[2] not in output.text:
            self._say(output.error)

    def _say(self, text: str) -> None:
        click.echo(f"{self._title}: {text}", err=True)


def _heading(output: LastOutput) -> str:
    """`apply of generation 2 (spec_change), started 2026-01-31T12:00:00Z, failed at 2026-01-31T12:00:02Z`."""
    generation = f" of generation {output.generation}" if output.generation is not None else ""
    trigger = f" ({output.trigger})" if output.trigger is not None else ""
    started = f", started {_moment(output.started)}" if output.started is not None else ""
    return f"{output.purpose or 'run'}{generation}{trigger}{started}, {_state(output)}"


def _state(output: LastOutput) -> str:
    if output.is_running:
        return "under way"
    return f"{output.state} at {_moment(output.ended)}" if output.ended is not None else output.state


def _moment(text: str) -> str:
    return format_time(parse_time(text))


def _silence(status: ResourceStatus) -> str:
    run = status.run
    if run is None:
        return "nothing was printed" if status.reconciliations else "there was no run yet"
    if url := (run.handle or {}).get("url"):
        return f"the run to {run.purpose} is elsewhere: {url}"
    return f"the run to {run.purpose} has printed nothing yet; -f waits for it"
