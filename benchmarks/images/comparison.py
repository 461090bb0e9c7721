"""The images operator: many Deployments of one manifests repository, all changed at once, beside full clones."""

from __future__ import annotations

import sys

from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.images.live import Figures, Scale, measure_live
from benchmarks.report import console, machine

FULL = (Scale(apps=5), Scale(apps=100))
QUICK = (Scale(deployments=50, files=500, apps=5, clones=3),)


async def show_images(scales: tuple[Scale, ...]) -> None:
    shown = console()
    shown.print(machine())
    for scale in scales:
        shown.print(_table(scale, await measure_live(scale, lambda text: print(text, file=sys.stderr, flush=True))))


def _table(scale: Scale, found: Figures) -> Table:
    title = (
        f"{scale.deployments:,} Deployments, {scale.files:,} files, {scale.apps} app repositories; "
        f"others used {found.other:.0%} of a core during the change"
    )
    table = Table("what", "measured", "wanted", title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_row("all changed: notice to the answer, time", f"{found.change_s:.1f} s", "< 10 s")
    table.add_row("the same, CPU of the operator", f"{found.change_cpu_s:.1f} s", "")
    table.add_row("the same, CPU of its git processes", f"{found.change_git_s:.1f} s", "")
    table.add_row("commits pushed", str(found.commits), "1")
    table.add_row("requests to the git server", str(found.change_requests), "")
    table.add_row("a pass without a change, time", f"{found.idle_s:.2f} s", "")
    table.add_row("the same, CPU of the operator and git", f"{found.idle_cpu_s:.2f} s", "")
    table.add_row("questions for refs in it", str(found.idle_questions), f"{scale.apps + 1}")
    table.add_row("the operator's memory at its peak", f"{found.mib:.0f} MiB", "< 150 MiB")
    whole = found.clone_s * scale.deployments
    table.add_row(
        f"full clones as the original makes them, CPU of git for one of {scale.clones}", f"{found.clone_s:.2f} s", ""
    )
    table.add_row(f"for all {scale.deployments:,}", f"{whole:.0f} s, {scale.deployments:,} commits", "")
    return table
