"""The actions operator: many resources kept by one plane, against what is wanted."""

from __future__ import annotations

import sys

from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.actions.live import Figures, measure_actions
from benchmarks.actions.phases import Burst, Scale
from benchmarks.report import console, machine

FULL = Scale()
QUICK = Scale(resources=4000, seconds=30.0, changes=10)
_LATE_S = 2.0


async def show_actions(scale: Scale) -> None:
    shown = console()
    shown.print(machine())
    shown.print(_table(scale, await measure_actions(scale, _progress)))


def _table(scale: Scale, found: Figures) -> Table:
    steady, most = found.steady, scale.keep * scale.resources
    title = (
        f"{scale.resources:,} resources, due every {scale.interval_s} s, for {scale.seconds:g} s;"
        f" others used {steady.other:.0%} of a core meanwhile"
    )
    table = Table("what", "measured", "wanted", title=title, title_justify="left", box=SIMPLE_HEAD)
    rate = 0.97 * scale.a_second
    table.add_row("reconciliations a second", f"{steady.rate:.0f}", _marked(f"{scale.a_second}", steady.rate >= rate))
    table.add_row("later than due, p50", f"{steady.late_p50_s:.3f} s", "")
    table.add_row("the same, p99", f"{steady.late_p99_s:.3f} s", _marked("< 2 s", steady.late_p99_s < _LATE_S))
    table.add_row("the longest wait of any", f"{steady.oldest_s:.3f} s", "")
    table.add_row("CPU of plane and operator, for each", f"{steady.cpu_ms:.2f} ms", "")
    table.add_row("of it the event loop's", f"{steady.loop_ms:.2f} ms", "")
    table.add_row("writes, for each", f"{steady.writes:.2f}", "")
    table.add_row("drift found and corrected", f"{steady.drifted}", "")
    table.add_row("history", f"{steady.entries:,} entries", _marked(f"<= {most:,}", steady.entries <= most))
    table.add_row("database, for each", f"{steady.grown_bytes:+,.0f} bytes", "")
    table.add_row("memory before and after", f"{steady.rss_mib[0]:.0f} and {steady.rss_mib[1]:.0f} MiB", "")
    _add_burst(table, "new resources, from the first made to the last ready", found.first)
    _add_burst(table, "overdue resources, from the start of the plane", found.overdue)
    table.add_row(f"history swept of {found.swept:,} entries", f"{found.sweep_s:.1f} s", "")
    return table


def _add_burst(table: Table, title: str, burst: Burst) -> None:
    table.add_row(title, f"{burst.seconds:.1f} s", "")
    table.add_row("CPU, for each", f"{burst.cpu_ms:.2f} ms", "")
    ordered = sorted(burst.change_s)
    times = f"{ordered[len(ordered) // 2]:.3f} and {ordered[-1]:.3f} s"
    table.add_row("a change meanwhile, p50 and longest", times, "")


def _marked(text: str, is_met: bool) -> str:
    return f"[green]{text} yes[/green]" if is_met else f"[red]{text} NO[/red]"


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
