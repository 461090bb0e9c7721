"""A table of objects that stays current until it is interrupted.

On a terminal the table stays in its place, as long as the terminal is high, the rows that matter most first. Elsewhere
each change is a row, for other programs.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, Final

from homeostat.cli.console.failure import one_line
from homeostat.cli.console.table import Table, cell_text
from homeostat.client.base import Event
from homeostat.objects.json import JsonObject

if TYPE_CHECKING:
    from rich.table import Table as RichTable

EVENT: Final = "EVENT".ljust(len("MODIFIED"))
"""A heading as wide as what comes under it, for rows that are printed already cannot move."""
_MARGIN: Final = 3

Changes = AsyncGenerator[Event, None]


@dataclass(frozen=True, slots=True)
class View:
    """How objects are shown. `row` is given the time, for ages; the objects of the lowest `rank` come first."""

    headings: Sequence[str]
    row: Callable[[JsonObject, float], Sequence[object]]
    rank: Callable[[JsonObject], Any]
    style: Callable[[JsonObject], str]


async def show_live(view: View, changes: Sequence[Changes]) -> None:
    """Shows every change of all of them; ends by an error of one, or by an interrupt."""
    await (_on_terminal if sys.stdout.isatty() else _line_by_line)(view, changes)


async def _on_terminal(view: View, changes: Sequence[Changes]) -> None:
    from rich.console import Console
    from rich.live import Live

    found: dict[tuple[str, ...], JsonObject] = {}
    console = Console()

    def table() -> RichTable:
        # Drawn by a thread of its own, while objects come and go.
        return table_of(view, list(found.values()), time.time(), most=max(console.height - _MARGIN, 1))

    def show(event: Event) -> None:
        key = _key(event.obj)
        if event.type == "DELETED":
            found.pop(key, None)
        else:
            found[key] = event.obj

    with Live(console=console, get_renderable=table, refresh_per_second=4):
        await _follow_all(changes, show)


async def _line_by_line(view: View, changes: Sequence[Changes]) -> None:
    table = Table((EVENT, *view.headings))
    await _follow_all(changes, lambda event: table.print([(event.type, *view.row(event.obj, time.time()))]))


async def _follow_all(changes: Sequence[Changes], show: Callable[[Event], None]) -> None:
    async def follow(events: Changes) -> None:
        async with aclosing(events):
            async for event in events:
                show(event)

    await asyncio.gather(*map(follow, changes))


def table_of(view: View, objects: Sequence[JsonObject], now: float, *, most: int) -> RichTable:
    """As many rows as there is room for."""
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(*view.headings, box=None, header_style="bold", pad_edge=False)
    for obj in nsmallest(most, objects, key=view.rank):
        style = view.style(obj)
        table.add_row(*(Text(one_line(cell_text(each)), style=style) for each in view.row(obj, now)))
    if len(objects) > most:
        table.caption, table.caption_justify = f"and {len(objects) - most} more", "left"
    return table


def _key(obj: JsonObject) -> tuple[str, ...]:
    metadata = obj["metadata"]
    return str(obj.get("apiVersion", "")), str(obj.get("kind", "")), metadata.get("namespace", ""), metadata["name"]
