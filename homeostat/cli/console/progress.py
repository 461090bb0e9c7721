"""Progress of a long command on standard error: bars, counters and lines. On a terminal they are redrawn in place and
erased at the end; without a terminal nothing is shown.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from homeostat.cli.console.colour import is_coloured
from homeostat.cli.console.failure import one_line
from homeostat.cli.terminal import drawn_on

if TYPE_CHECKING:
    from rich.console import Console

Advance = Callable[[int], None]
Text = Callable[[float], str]
"""Makes the text of a line from the current time."""
Show = Callable[[str, Text | None], None]
_MOST_LINES: Final = 20


@contextmanager
def progress(what: str, total: int, *, worth: int = 0) -> Iterator[Advance]:
    """A bar that shows how much of `total` is done; none if the total is less than `worth`."""
    if total < worth or not sys.stderr.isatty():
        yield _pass
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=_console(), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)


@contextmanager
def counting(names: Sequence[str], unit: str) -> Iterator[dict[str, Advance]]:
    """One counter a name, for work of unknown size."""
    if not sys.stderr.isatty():
        yield dict.fromkeys(names, _pass)
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TextColumn(f"{{task.completed:,}} {unit}"))
    with Progress(*columns, console=_console(), transient=True) as counters:

        def advance_of(name: str) -> Advance:
            task = counters.add_task(one_line(name), total=None)
            return lambda count: counters.advance(task, count)

        yield {name: advance_of(name) for name in names}


@contextmanager
def status_lines() -> Iterator[Show]:
    """Lines by title, each shown until its text is None. For a terminal only."""
    from rich.live import Live
    from rich.text import Text as RichText

    texts: dict[str, Text] = {}

    def lines() -> RichText:
        shown, now = list(texts.items()), time.time()
        texts_shown = [f"{title} {one_line(text(now))}" for title, text in shown[:_MOST_LINES]]
        more = [f"and {len(shown) - _MOST_LINES} more"] if len(shown) > _MOST_LINES else []
        return RichText("\n".join([*texts_shown, *more]), style="dim")

    with Live(console=_console(), get_renderable=lines, refresh_per_second=2, transient=True) as live:

        def show(title: str, text: Text | None) -> None:
            if text is None:
                texts.pop(title, None)
            else:
                texts[title] = text
            live.refresh()

        yield show


def _console() -> Console:
    from rich.console import Console

    return Console(file=drawn_on(sys.stderr), no_color=not is_coloured(sys.stderr))


def _pass(count: int) -> None:
    del count
