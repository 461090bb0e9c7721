"""The contracts operator: many Pactos on one plane, against what is wanted."""

from __future__ import annotations

import sys

from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.contracts.live import Figures, Scale, measure_live
from benchmarks.report import console, machine
from benchmarks.runtime.changes import rows_of

FULL = Scale()
QUICK = Scale(pactos=1000, changes=200, idle_s=10.0)


async def show_contracts(scale: Scale) -> None:
    shown = console()
    shown.print(machine())
    shown.print(_table(scale, await measure_live(scale, lambda text: print(text, file=sys.stderr, flush=True))))


def _table(scale: Scale, found: Figures) -> Table:
    share = scale.pactos / 10_000
    title = f"{scale.pactos:,} Pactos; others used {found.changes.other:.0%} of a core during the changes"
    table = Table("what", "measured", "wanted", title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_row("first pass: status and revision written, CPU", f"{found.first_cpu_s:.1f} s", "")
    table.add_row("the same, time", f"{found.first_s:.1f} s", "")
    table.add_row("full pass after a restart, CPU", f"{found.again_cpu_s:.1f} s", f"< {20 * share:g} s")
    table.add_row("the same, time", f"{found.again_s:.1f} s", "")
    table.add_row("at rest, share of a core", f"{found.idle_cpu:.1%}", "near 0")
    for row in rows_of(found.changes, "a workload", per_s=scale.changes_per_s, wanted="< 100 ms"):
        table.add_row(*row)
    table.add_row("one scrape of all series", f"{found.scrape_s:.2f} s", "")
    table.add_row("the operator's memory", f"{found.mib:.0f} MiB", "")
    return table
