"""`homeostat policy watch`: policies and their scores as they change; the worst first.

On a terminal the table stays in its place. Elsewhere each change is a row, for other programs.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable
from contextlib import aclosing
from typing import NamedTuple

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table as RichTable
from rich.text import Text

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import one_line
from homeostat.cli.console.table import Table
from homeostat.cli.objects.changes import changes_of
from homeostat.cli.policy.stored import KINDS, no_kind
from homeostat.client.base import Client, Event
from homeostat.objects.conditions import STALLED
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind

_HEADINGS = ("NAMESPACE", "POLICY", "SCORE", "STATUS", "VIOLATIONS", "PODS", "MODE", "EVALUATED")
_STYLES = {"Healthy": "green", "Stable": "yellow", "Degraded": "dark_orange", "Critical": "red", "Stalled": "red"}


class Row(NamedTuple):
    namespace: str
    name: str
    score: int | None
    classification: str
    violations: int | None
    pods: int | None
    mode: str
    evaluated: str


@click.command(short_help="Show policies and their scores, live.")
@click.option("-A", "--all-namespaces", is_flag=True, help="In all namespaces, and those of the cluster.")
@connected
async def command(connection: Connection, all_namespaces: bool) -> None:
    """Show policies and their scores as they change, the worst first. Ctrl-C ends it.

    \b
    Examples:
      homeostat policy watch -A
      homeostat policy watch --namespace shop
    """
    namespace = "" if all_namespaces else connection.namespace
    kinds = [each for each in KINDS.values() if not namespace or each.is_namespaced]
    if sys.stdout.isatty():
        await _on_terminal(connection.client, kinds, namespace)
    else:
        await _line_by_line(connection.client, kinds, namespace)


async def _on_terminal(client: Client, kinds: Iterable[Kind], namespace: str) -> None:
    rows: dict[tuple[str, str], Row] = {}
    with Live(_table(()), console=Console(), auto_refresh=False) as live:

        def show(event: Event) -> None:
            row = row_of(event.obj)
            if event.type == "DELETED":
                rows.pop(row[:2], None)
            else:
                rows[row[:2]] = row
            live.update(_table(rows.values()), refresh=True)

        await _follow_all(client, kinds, namespace, show)


async def _line_by_line(client: Client, kinds: Iterable[Kind], namespace: str) -> None:
    table = Table(("EVENT", *_HEADINGS))
    await _follow_all(client, kinds, namespace, lambda event: table.print([(event.type, *row_of(event.obj))]))


async def _follow_all(client: Client, kinds: Iterable[Kind], namespace: str, show: Callable[[Event], None]) -> None:
    async def follow(kind: Kind) -> None:
        try:
            async with aclosing(changes_of(client, kind.path(namespace))) as events:
                async for event in events:
                    show(event)
        except NotFoundError as error:
            raise no_kind() from error

    await asyncio.gather(*map(follow, kinds))


def row_of(policy: JsonObject) -> Row:
    metadata, status = policy["metadata"], policy.get("status") or {}
    return Row(
        metadata.get("namespace", ""),
        metadata["name"],
        status.get("healthScore"),
        "Stalled" if _is_stalled(status) else status.get("classification", "Unknown"),
        status.get("violations"),
        status.get("pods"),
        (policy.get("spec") or {}).get("enforcementMode", "audit"),
        status.get("lastEvaluated", ""),
    )


def _is_stalled(status: JsonObject) -> bool:
    """Its score is that of before."""
    conditions = status.get("conditions") or ()
    return any(each["type"] == STALLED and each["status"] == "True" for each in conditions)


def _table(rows: Iterable[Row]) -> RichTable:
    table = RichTable(*_HEADINGS, box=None, header_style="bold", pad_edge=False)
    for row in sorted(rows, key=lambda each: (101 if each.score is None else each.score, each[:2])):
        style = _STYLES.get(row.classification, "")
        table.add_row(*(Text(one_line("" if cell is None else str(cell)), style=style) for cell in row))
    return table
