"""`homeostat resource watch`: resources and their phases as they change; those that need somebody first.

On a terminal the table stays in its place. Elsewhere each change is a row, for other programs.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from heapq import nsmallest
from typing import Final

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table as RichTable
from rich.text import Text

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure, one_line
from homeostat.cli.console.table import Table
from homeostat.cli.objects.changes import changes_of
from homeostat.cli.objects.targets import Target
from homeostat.cli.resource.complete import complete_resources
from homeostat.cli.resource.kinds import resources_of, whole
from homeostat.cli.resource.state import standing_of, status_of
from homeostat.client.base import Client, Event
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject

_HEADINGS: Final = ("NAMESPACE", "TYPE", "NAME", "PHASE", "FOR", "MESSAGE", "RUN")
_STYLES: Final = {"ready": "green", "failed": "red", "reconciling": "yellow", "deleting": "magenta", "pending": ""}
_ORDER: Final = ("failed", "deleting", "reconciling", "pending", "ready")
_MARGIN: Final = 3
_EVENT: Final = "EVENT".ljust(len("MODIFIED"))


@click.command(short_help="Show resources and their phases, live.")
@click.argument("words", nargs=-1, metavar="[TYPE [NAME]...]", shell_complete=complete_resources)
@click.option("-A", "--all-namespaces", is_flag=True, help="In all namespaces.")
@connected
async def command(connection: Connection, words: tuple[str, ...], all_namespaces: bool) -> None:
    """Show resources and their phases as they change. Ctrl-C ends it. Types that are added later are not followed.

    \b
    Examples:
      homeostat resource watch
      homeostat resource watch DatabaseCluster -A
      homeostat resource watch databasecluster/orders
    """
    targets = await resources_of(connection.client, words)
    if not targets:
        raise Failure("there is no resource type yet; to add one: homeostat type add -f FILE")
    namespace = "" if all_namespaces else connection.namespace
    await (_on_terminal if sys.stdout.isatty() else _line_by_line)(connection.client, targets, namespace)


async def _on_terminal(client: Client, targets: Sequence[Target], namespace: str) -> None:
    found: dict[str, JsonObject] = {}
    console = Console()

    def table() -> RichTable:
        # Drawn by a thread of its own, while objects come and go.
        return table_of(list(found.values()), time.time(), most=max(console.height - _MARGIN, 1))

    def show(event: Event) -> None:
        uid = event.obj["metadata"]["uid"]
        if event.type == "DELETED":
            found.pop(uid, None)
        else:
            found[uid] = event.obj

    with Live(console=console, get_renderable=table, refresh_per_second=4):
        await _follow_all(client, targets, namespace, show)


async def _line_by_line(client: Client, targets: Sequence[Target], namespace: str) -> None:
    table = Table((_EVENT, *_HEADINGS))

    def show(event: Event) -> None:
        table.print([(event.type, *row_of(event.obj, time.time()))])

    await _follow_all(client, targets, namespace, show)


async def _follow_all(client: Client, targets: Sequence[Target], namespace: str, show: Callable[[Event], None]) -> None:
    async def follow(target: Target) -> None:
        query = {"fieldSelector": f"metadata.name={target.name}"} if target.name else {}
        try:
            async with aclosing(changes_of(client, target.kind.path(namespace), **query)) as events:
                async for event in events:
                    show(Event(event.type, whole(target.kind, event.obj)))
        except NotFoundError as error:
            raise Failure(f"the resource type {target.kind.kind} is gone") from error

    await asyncio.gather(*map(follow, targets))


def row_of(obj: JsonObject, now: float) -> tuple[str, ...]:
    """Under the headings."""
    metadata, standing = obj["metadata"], standing_of(obj)
    where = (metadata["namespace"], obj["kind"], metadata["name"])
    return (*where, standing.phase, standing.age(now), standing.message, standing.url)


def table_of(objects: Sequence[JsonObject], now: float, *, most: int) -> RichTable:
    """As many rows as there is room for."""
    table = RichTable(*_HEADINGS, box=None, header_style="bold", pad_edge=False)
    for obj in nsmallest(most, objects, key=_rank):
        row = row_of(obj, now)
        table.add_row(*(Text(one_line(each), style=_STYLES[row[3]]) for each in row))
    if len(objects) > most:
        table.caption, table.caption_justify = f"and {len(objects) - most} more", "left"
    return table


def _rank(obj: JsonObject) -> tuple[int, str, str, str]:
    metadata = obj["metadata"]
    return _ORDER.index(status_of(obj).phase), metadata["namespace"], obj["kind"], metadata["name"]
