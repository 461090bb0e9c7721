"""The runtime against kopf, side by side in one run: the same trivial operator on servers of their own.

Each side gets a fresh server and a process for itself; this process makes the load and sees the stamps. On the real
kube-apiserver, where it was built, there are fewer objects: it is the server that takes the time there. A bare client
without any runtime shows what the watch and the patches alone come to.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import perf_counter

import msgspec

from benchmarks.report import console, machine
from benchmarks.runtime.growth import measure_growth
from benchmarks.runtime.phases import Figures, Load, measure
from benchmarks.runtime.pods import measure_pods
from benchmarks.runtime.report import show_growth, show_pods, show_sides
from benchmarks.runtime.sides import FLOOR, KOPF, OURS, SERVERS, plane


class Runs(msgspec.Struct, frozen=True):
    loads: dict[str, Load]
    """By the server, where it is there."""
    sizes: Sequence[int]
    pods: int


FULL = Runs(
    {"the plane": Load(), "kube-apiserver": Load(objects=1000, changes=300, changes_per_s=50, more=300)},
    sizes=(1000, 10_000, 50_000),
    pods=100_000,
)
QUICK = Runs({"the plane": Load(objects=1000, changes=200, more=500)}, sizes=(500, 2000), pods=10_000)


async def show_runtime(runs: Runs) -> None:
    shown = console()
    shown.print(machine())
    for name, load in runs.loads.items():
        if name not in SERVERS:
            shown.print(f"[dim]{name}: not built here; python -m tools.build_cluster builds it[/dim]")
            continue
        found: dict[str, Figures] = {}
        for side in (OURS, KOPF, FLOOR):
            began = perf_counter()
            with SERVERS[name]() as server:
                found[side.name] = await measure(side, server, load)
            _progress(f"{side.name} on {name}: {found[side.name].rate:,.0f}/s, {perf_counter() - began:.0f} s in all")
        show_sides(shown, name, load, found)
    with plane() as server:
        show_growth(shown, await measure_growth(server, runs.sizes))
    with plane() as server:
        show_pods(shown, await measure_pods(server, runs.pods))


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
