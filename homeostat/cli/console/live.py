"""A table of objects that stays current until it is interrupted.

On a terminal the table is redrawn in place, with the most important rows first and no more rows than the terminal has.
Elsewhere every change is printed as one row, for other programs.
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

from homeostat.cli.console.colour import is_coloured
from homeostat.cli.console.failure import one_line
from homeostat.cli.console.table import Table, cell_text
from homeostat.cli.terminal import drawn_on
from homeostat.client.base import Event
from homeostat.objects.json import JsonObject

if TYPE_CHECKING:
    from rich.table import Table as RichTable

EVENT: Final = "EVENT".ljust(len("MODIFIED"))
"""As wide as the longest event type: rows that are already printed cannot be moved."""
_MARGIN: Final = 3

Changes = AsyncGenerator[Event, None]


@dataclass(frozen=True, slots=True)
class View:
    """How objects are shown. `row` gets the current time to print ages; objects of the lowest `rank` come first."""

    headings: Sequence[str]
    row: Callable[[JsonObject, float], Sequence[object]]
    rank: Callable[[JsonObject], Any]
    style: Callable[[JsonObject], str]


async def show_live(view: View, changes: Sequence[Changes]) -> None:
    """Show the changes of all streams. It ends when one of them fails, or by an interrupt."""
    await (_on_terminal if sys.stdout.isatty() else _line_by_line)(view, changes)


async def _on_terminal(view: View, changes: Sequence[Changes]) -> None:
    from rich.console import Console
    from rich.live import Live

    found: dict[tuple[str, ...], JsonObject] = {}
    console = Console(file=drawn_on(sys.stdout), no_color=not is_coloured(sys.stdout))

    def table() -> RichTable:
        # Another thread draws it while objects are added and removed.
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
    """At most `most` rows; the caption counts the others."""
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
