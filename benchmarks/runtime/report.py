"""The figures of operators side by side, with what is wanted of ours."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.measurement import DISTURBED
from benchmarks.runtime.growth import Size
from benchmarks.runtime.phases import Figures, Load
from benchmarks.runtime.pods import Pods

MOST_ADDED_MIB, MOST_SYNC_S = 150 / 1.048576, 10.0
_MANY_PODS = 100_000


class _Row(NamedTuple):
    what: str
    field: str
    form: str
    is_more_better: bool
    wanted: float = 0.0
    """So many times better than the other."""


_ROWS = (
    _Row("reconciles a second, first sync", "rate", ",.0f", True, 10),
    _Row("CPU ms a reconcile", "cpu_ms", ".3f", False),
    _Row("reconciles a second, created while it runs", "more_rate", ",.0f", True),
    _Row("change to status p50 ms", "p50_ms", ".1f", False, 5),
    _Row("change to status p99 ms", "p99_ms", ".1f", False, 5),
    _Row("CPU ms a change", "change_cpu_ms", ".3f", False),
    _Row("memory MiB (RSS)", "rss_mib", ".0f", False, 3),
    _Row("memory MiB (PSS)", "pss_mib", ".0f", False, 3),
    _Row("server's CPU ms a reconcile", "server_cpu_ms", ".3f", False),
    _Row("start to first stamp s", "start_s", ".2f", False),
    _Row("idle, % of a core", "idle_percent", ".2f", False),
)


def show_sides(console: Console, server: str, load: Load, found: Mapping[str, Figures]) -> None:
    (own, ours), (other, theirs), (bare, floor) = found.items()
    title = f"On {server}: {load.objects:,} objects, {load.changes:,} changes at {load.changes_per_s:g} a second"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("what", no_wrap=True)
    for heading in (other, own, "times", "wanted", bare, "its times"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in _ROWS:
        table.add_row(*_cells(row, *(getattr(each, row.field) for each in (theirs, ours, floor))))
    console.print(table)
    console.print(_bounds(theirs, found.values()))
    for name, figures in found.items():
        if figures.other > DISTURBED:
            console.print(f"[dim]~ others used {figures.other:.2f} of a core during the first sync of {name}[/dim]")


def _bounds(theirs: Figures, found: Iterable[Figures]) -> str:
    """What the server took, beside what is wanted of ours: where its CPU is the limit, no client can help it."""
    figures = list(found)
    cores, cpu_ms = os.cpu_count() or 1, min(each.server_cpu_ms for each in figures)
    return (
        f"[dim]At {cpu_ms:.3f} ms of the server's CPU a reconcile, the least of the three, {cores} cores come to "
        f"{cores * 1e3 / cpu_ms:,.0f} a second at most (wanted {theirs.rate * _ROWS[0].wanted:,.0f}). A status patch "
        f"alone is answered within {min(each.lone_ms for each in figures):.1f} ms, p50[/dim]"
    )


def _cells(row: _Row, theirs: float, ours: float, floor: float) -> list[str]:
    times, most = _times(row, theirs, ours), _times(row, theirs, floor)
    verdict = ""
    if row.wanted:
        verdict = f"[green]{row.wanted:g}x yes[/green]" if times >= row.wanted else f"[red]{row.wanted:g}x NO[/red]"
    figures = [f"{each:{row.form}}" for each in (theirs, ours)]
    return [row.what, *figures, _ratio(times), verdict, f"{floor:{row.form}}", _ratio(most)]


def _times(row: _Row, theirs: float, ours: float) -> float:
    better, worse = (ours, theirs) if row.is_more_better else (theirs, ours)
    return better / worse if worse > 0 else 0.0


def _ratio(times: float) -> str:
    return f"{times:.1f}" if times else ""


def show_growth(console: Console, sizes: Sequence[Size]) -> None:
    table = Table(title="Cost of a change", title_justify="left", box=SIMPLE_HEAD)
    for heading in ("objects", "CPU ms a change", "MiB (PSS)"):
        table.add_column(heading, justify="right")
    for size in sizes:
        table.add_row(f"{size.objects:,}", f"{size.cpu_ms:.3f}", f"{size.pss_mib:.0f}")
    console.print(table)


def show_pods(console: Console, pods: Pods) -> None:
    held = pods.held
    is_met = held.added_mib < MOST_ADDED_MIB and held.seconds < MOST_SYNC_S
    verdict = "[green]yes[/green]" if is_met else "[red]NO[/red]"
    wanted = f"; wanted 150 MB and {MOST_SYNC_S:g} s: {verdict}" if held.pods >= _MANY_PODS else ""
    console.print(
        f"{held.pods:,} Pods in a cache: {held.added_mib:.0f} MiB added, in sync after {held.seconds:.1f} s"
        f" (created through the API in {pods.create_s:.0f} s){wanted}"
    )
