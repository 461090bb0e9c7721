"""Rows in columns. A table may be printed in parts; later parts keep the column widths of the earlier ones.

On a terminal, cells that are too long are wrapped in their column. Elsewhere a row is always one line, so that other
programs can read it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence

from homeostat.cli.console.colour import colour_of, is_coloured, paint
from homeostat.cli.console.failure import one_line

_GAP = 3
_SHORT = 10
_commits = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class Table:
    def __init__(self, headings: Sequence[str], *, indent: int = 0) -> None:
        self._headings = headings
        self._indent = indent
        self._widths = [0] * len(headings)
        self._is_begun = False

    def print(self, rows: Iterable[Sequence[object]], *, style: str = "") -> None:
        """Print rows; the first call prints the headings above them."""
        cells = [[one_line(cell_text(cell)) for cell in row] for row in rows]
        headings = [] if self._is_begun else [[one_line(each).ljust(len(each)) for each in self._headings]]
        self._is_begun = True
        for index, width in enumerate(self._widths):
            self._widths[index] = max([width, *(cell_len(row[index]) for row in (*headings, *cells))])
        if sys.stdout.isatty():
            self._draw(headings, cells, style)
        else:
            self._write([*headings, *cells])
        sys.stdout.flush()

    def _colours(self, row: Sequence[str]) -> list[str]:
        return [colour_of(heading.strip(), text) for heading, text in zip(self._headings, row, strict=True)]

    def _write(self, rows: Sequence[Sequence[str]]) -> None:
        margin = " " * self._indent
        for row in rows:
            cells = zip(row, self._colours(row), self._widths, strict=True)
            padded = [paint(text, colour, sys.stdout) + " " * (width - cell_len(text)) for text, colour, width in cells]
            sys.stdout.write(f"{margin}{(' ' * _GAP).join(padded)}".rstrip() + "\n")

    def _draw(self, headings: Sequence[Sequence[str]], rows: Sequence[Sequence[str]], style: str) -> None:
        # Only a terminal needs it, and importing it takes longer than printing a small table.
        from rich.console import Console
        from rich.table import Table as RichTable
        from rich.text import Text

        coloured = is_coloured(sys.stdout)
        console = Console(file=sys.stdout, highlight=False, no_color=not coloured)
        room = console.width = max(console.width - self._indent, 1)
        table = RichTable(box=None, show_header=False, padding=(0, _GAP, 0, 0), pad_edge=False)
        for width in self._widths:
            is_roomy = sum(self._widths) + _GAP * len(self._widths) <= room
            table.add_column(min_width=width if is_roomy else None, overflow="fold")
        for row in headings:
            table.add_row(*(Text(each, style="bold" if coloured else "") for each in row))
        for row in rows:
            colours = self._colours(row)
            table.add_row(
                *(
                    Text(each, style=(colour or style) if coloured else "")
                    for each, colour in zip(row, colours, strict=True)
                )
            )
        with console.capture() as capture:
            console.print(table)
        for line in capture.get().splitlines():
            sys.stdout.write(" " * self._indent + line.rstrip() + "\n")


def cell_len(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len as rich_cell_len

    return rich_cell_len(text)


def cell_text(cell: object) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return str(cell).lower()
    return str(cell)


def shorten_commits(text: str) -> str:
    """Three whole commits make a row wider than a terminal."""
    return _commits.sub(lambda found: found[0][:_SHORT], text)
