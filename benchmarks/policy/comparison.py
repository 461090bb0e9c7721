"""The policy operator: many files checked, and many Pods watched by many policies, against what is wanted."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import msgspec
from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.policy.files import Run, measure_files
from benchmarks.policy.live import Figures, Scale, measure_live
from benchmarks.report import console, machine
from benchmarks.runtime.changes import rows_of


class Runs(msgspec.Struct, frozen=True):
    files: int = 10_000
    live: Scale = Scale()


FULL = Runs()
QUICK = Runs(2000, Scale(pods=10_000, namespaces=50, changes=300, tries=1))


async def show_policy(runs: Runs) -> None:
    shown = console()
    shown.print(machine())
    with tempfile.TemporaryDirectory(prefix="homeostat-bench-") as folder:
        ours, gator = measure_files(Path(folder), runs.files)
    shown.print(_files(runs, ours, gator))
    if gator is None:
        shown.print("[dim]gator: not built; --build-gator does it, with Go and a download[/dim]")
    elif gator.found != ours.found:
        shown.print(f"[red]they disagree: {ours.found} and {gator.found} violations[/red]")
    shown.print(_live(runs.live, await measure_live(runs.live, _progress)))


def _files(runs: Runs, ours: Run, gator: Run | None) -> Table:
    table = Table(title=f"{runs.files:,} manifest files", title_justify="left", box=SIMPLE_HEAD)
    for heading in ("what", "s", "CPU s", "peak MiB", "violations", "x time", "x CPU", "wanted"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    wanted = f"< {5 * runs.files / 10_000:g} s"
    table.add_row(*_row(ours), "", "", wanted)
    if gator is not None:
        ratios = (f"{gator.seconds / ours.seconds:.1f}", f"{gator.cpu_s / ours.cpu_s:.1f}")
        table.add_row(*_row(gator), *ratios, "5x")
    return table


def _row(run: Run) -> tuple[str, ...]:
    return run.name, f"{run.seconds:.2f}", f"{run.cpu_s:.2f}", f"{run.peak_mib:.0f}", f"{run.found:,}"


def _live(scale: Scale, found: Figures) -> Table:
    changes, share = found.changes, scale.pods / 100_000
    title = f"{scale.pods:,} Pods, {scale.namespaces} policies; others used {changes.other:.0%} of a core meanwhile"
    table = Table("what", "measured", "wanted", title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_row("Pods listed and cached", f"{found.sync_s:.1f} s", "")
    table.add_row("all policies declared to all reported, CPU", f"{found.evaluate_cpu_s:.2f} s", f"< {2 * share:g} s")
    table.add_row("the same, time", f"{found.evaluate_s:.2f} s", "")
    for row in rows_of(changes, "a Pod", per_s=scale.changes_per_s, wanted="< 50 ms"):
        table.add_row(*row)
    table.add_row("the operator's memory, of it when idle", f"{found.full_mib:.0f} of it {found.idle_mib:.0f} MiB", "")
    table.add_row("what Pods and policies add", f"{found.full_mib - found.idle_mib:.0f} MiB", "< 150 MiB")
    return table


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
