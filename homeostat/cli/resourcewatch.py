"""`homeostat resource watch`: resources and their phases as they change; those that need somebody first.

On a terminal the table stays in its place. Elsewhere each change is a row, for other programs.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Final

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table as RichTable
from rich.text import Text

from homeostat.cli.changes import changes_of
from homeostat.cli.connection import Connection, connected
from homeostat.cli.failure import Failure, one_line
from homeostat.cli.resourcekinds import resources_of, whole
from homeostat.cli.resourcestate import standing_of, status_of
from homeostat.cli.table import Table
from homeostat.cli.targets import Target
from homeostat.client.base import Client, Event
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject

_HEADINGS: Final = ("NAMESPACE", "TYPE", "NAME", "PHASE", "FOR", "MESSAGE", "RUN")
_STYLES: Final = {"ready": "green", "failed": "red", "reconciling": "yellow", "deleting": "magenta", "pending": ""}
_ORDER: Final = ("failed", "deleting", "reconciling", "pending", "ready")
_EVENT: Final = "EVENT".ljust(len("MODIFIED"))


@click.command(short_help="Show resources and their phases, live.")
@click.argument("words", nargs=-1, metavar="[TYPE [NAME]...]")
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

    def table() -> RichTable:
        return _table(found.values(), time.time())

    with Live(console=Console(), get_renderable=table, refresh_per_second=1) as live:

        def show(event: Event) -> None:
            uid = event.obj["metadata"]["uid"]
            if event.type == "DELETED":
                found.pop(uid, None)
            else:
                found[uid] = event.obj
            live.refresh()

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


def _table(objects: Iterable[JsonObject], now: float) -> RichTable:
    table = RichTable(*_HEADINGS, box=None, header_style="bold", pad_edge=False)
    for obj in sorted(objects, key=_rank):
        row = row_of(obj, now)
        table.add_row(*(Text(one_line(each), style=_STYLES[row[3]]) for each in row))
    return table


def _rank(obj: JsonObject) -> tuple[int, str, str, str]:
    metadata = obj["metadata"]
    return _ORDER.index(status_of(obj).phase), metadata["namespace"], obj["kind"], metadata["name"]
