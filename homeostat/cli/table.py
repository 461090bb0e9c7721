"""Rows in columns, by rich. A table may be printed in parts; later parts keep the columns of the earlier.

On a terminal, cells that are too long are folded in their column. Elsewhere a row is one line, whatever its length, so
that other programs can read it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from homeostat.cli.failure import one_line

_GAP = 3


class Table:
    def __init__(self, headings: Sequence[str], *, indent: int = 0) -> None:
        self._headings = headings
        self._indent = indent
        self._widths = [0] * len(headings)
        self._is_begun = False

    def print(self, rows: Iterable[Sequence[object]], *, style: str = "") -> None:
        """The rows under the headings, which are printed the first time."""
        cells = [[Text(one_line(_text(cell)), style=style) for cell in row] for row in rows]
        headings = [] if self._is_begun else [[Text(each, style="bold") for each in self._headings]]
        self._is_begun = True
        for index, width in enumerate(self._widths):
            self._widths[index] = max([width, *(row[index].cell_len for row in (*headings, *cells))])
        self._write([*headings, *cells])

    def _write(self, rows: Sequence[Sequence[Text]]) -> None:
        console = Console(file=sys.stdout, highlight=False)
        needed = sum(self._widths) + _GAP * len(self._widths)
        room = max(console.width - self._indent, 1) if sys.stdout.isatty() else needed
        console.width = room
        table = RichTable(box=None, show_header=False, padding=(0, _GAP, 0, 0), pad_edge=False)
        for width in self._widths:
            table.add_column(min_width=width if needed <= room else None, overflow="fold")
        for row in rows:
            table.add_row(*row)
        with console.capture() as capture:
            console.print(table)
        for line in capture.get().splitlines():
            sys.stdout.write(" " * self._indent + line.rstrip() + "\n")
        sys.stdout.flush()


def _text(cell: object) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return str(cell).lower()
    return str(cell)
