"""Prints the current objects and then every change, until interrupted.

A watch that ends is resumed at its last resource version. If the server has compacted that version, the objects are
listed and printed again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import click

from homeostat.cli.console.live import EVENT
from homeostat.cli.console.output import TABLE as TABLE_FORM
from homeostat.cli.console.output import is_table, print_object, without_managed_fields
from homeostat.cli.console.table import Table
from homeostat.cli.objects.kinds import with_type_meta
from homeostat.cli.objects.rows import TABLE, Columns, as_table, fetch_table
from homeostat.cli.objects.targets import Target
from homeostat.client.base import Client, Event
from homeostat.objects.errors import ExpiredError
from homeostat.objects.json import JsonObject

_WATCH_S = 300
REOPEN_S = 0.2
_STYLES = {"ADDED": "green", "DELETED": "red"}


async def follow(
    client: Client,
    target: Target,
    namespace: str,
    *,
    query: Mapping[str, str] = {},
    output: str = TABLE_FORM,
    with_event: bool = False,
) -> None:
    """`output` is that of `get`; `with_event` puts ADDED, MODIFIED or DELETED before each row."""
    if target.name:
        query = {"fieldSelector": f"metadata.name={target.name}"}
    path = target.kind.path(namespace)
    if target.name:
        await client.get(target.kind.path(namespace, target.name))
    if not is_table(output):
        await _follow_objects(client, target, path, query, output)
        return
    printer = _RowPrinter(target, is_wide=output == "wide", with_namespace=not namespace, with_event=with_event)
    while True:
        table = await fetch_table(client, path, **query)
        printer.print(table, "")
        await _watch(client, path, query, table["metadata"]["resourceVersion"], printer.on_event, accept=TABLE)


async def _follow_objects(client: Client, target: Target, path: str, query: Mapping[str, str], output: str) -> None:
    count = 0

    def show(event: Event) -> None:
        nonlocal count
        print_object(with_type_meta(target.kind, without_managed_fields(event.obj)), output, is_first=not count)
        count += 1

    while True:
        items, revision = await client.list(path, **query)
        for item in items:
            show(Event("ADDED", item))
        await _watch(client, path, query, revision, show)


async def _watch(
    client: Client,
    path: str,
    query: Mapping[str, str],
    revision: str,
    show: Callable[[Event], None],
    *,
    accept: str = "",
) -> None:
    """Show every change after the revision. Returns when the server has compacted the revision (410)."""
    while True:
        try:
            async for event in client.watch(
                path,
                accept=accept,
                resourceVersion=revision,
                allowWatchBookmarks="true",
                timeoutSeconds=_WATCH_S,
                **query,
            ):
                revision = _revision_of(event.obj) or revision
                if event.type != "BOOKMARK":
                    show(event)
            # A server that ends every watch at once must not be flooded with requests.
            await asyncio.sleep(REOPEN_S)
        except ExpiredError:
            click.echo("the server no longer has the missed changes; listing again", err=True)
            return


def _revision_of(obj: JsonObject) -> str:
    """Of an object, or of the one in a Table's only row."""
    for row in obj.get("rows") or ():
        metadata = (row.get("object") or {}).get("metadata") or {}
        if metadata.get("resourceVersion"):
            return str(metadata["resourceVersion"])
    return str((obj.get("metadata") or {}).get("resourceVersion", ""))


class _RowPrinter:
    """Prints the headings once: a server sends the column definitions only in the first table of a watch."""

    def __init__(self, target: Target, *, is_wide: bool, with_namespace: bool, with_event: bool) -> None:
        self._target = target
        self._is_wide = is_wide
        self._with_namespace = with_namespace
        self._with_event = with_event
        self._columns: Columns | None = None
        self._table = Table([])

    def on_event(self, event: Event) -> None:
        self.print(as_table(event.obj), event.type)

    def print(self, table: JsonObject, event: str) -> None:
        if self._columns is None:
            self._columns = Columns(
                table,
                self._target.kind,
                is_wide=self._is_wide,
                with_namespace=self._with_namespace,
                with_kind=False,
            )
            self._table = Table([EVENT, *self._columns.headings] if self._with_event else self._columns.headings)
        rows = self._columns.cells(table)
        style = _STYLES.get(event, "")
        self._table.print(([event, *row] for row in rows) if self._with_event else rows, style=style)
