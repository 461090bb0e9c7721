"""Stores and replicas side by side, beside kube-apiserver and etcd: creates by crowds, and the lag of watches."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping

from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.bench import Scale, open_bench
from benchmarks.replicas.phases import QUICK, Churn, Creates, Load, best_create, churn, create
from benchmarks.replicas.sides import Side, sides
from benchmarks.report import console
from benchmarks.usage import Processes

__all__ = ["QUICK", "Load", "show_replicas"]

MOST_LAG_MS = 250.0
_WARMING = 3
_REST_S = 1.0
"""So that nothing of one phase is left to do in the next."""


async def show_replicas(load: Load) -> None:
    created: dict[str, list[Creates]] = {}
    churned: dict[str, Churn] = {}
    for side in sides():
        created[side.name], churned[side.name] = await _measure(side, load)
    shown = console()
    shown.print(_creates(load, created))
    shown.print(_churns(load, churned))
    for name, phases in created.items():
        for phase in phases:
            if phase.errors:
                shown.print(f"{name}, {phase.writers} writers: {phase.errors} errors, first: {phase.error}")


async def _measure(side: Side, load: Load) -> tuple[list[Creates], Churn]:
    with side.open() as targets:
        async with open_bench(targets[0], Processes([]), Scale(callers=1)) as bench:
            await bench.define()
        await create(targets, _WARMING, load.phase_s / 4)
        phases = []
        for writers in load.crowds:
            await asyncio.sleep(_REST_S)
            phases.append(await best_create(targets, writers, load))
            _progress(f"{side.name}, {writers} writers: {phases[-1].rate:,.0f}/s, {phases[-1].errors} errors")
        await asyncio.sleep(_REST_S)
        lag = await churn(targets, load)
        _progress(f"{side.name}: watch lag p99 {lag.p99_ms:.1f} ms at {lag.rate:,.0f} writes/s")
        return phases, lag


def _creates(load: Load, created: Mapping[str, list[Creates]]) -> Table:
    table = Table(title="Creates a second (p50 / p99 ms; errors), fsync on", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("server", no_wrap=True)
    for writers in load.crowds:
        table.add_column(f"{writers} writers", justify="right", no_wrap=True)
    for name, phases in created.items():
        table.add_row(
            name, *(f"{each.rate:,.0f} ({each.p50_ms:.1f} / {each.p99_ms:.0f}; {each.errors})" for each in phases)
        )
    return table


def _churns(load: Load, churned: Mapping[str, Churn]) -> Table:
    title = f"Watches under {load.churn_per_s} writes a second, {load.watchers} at each address"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for heading in ("server", "writes a second", "errors", "lag p50 ms", "lag p99 ms", "lost", f"< {MOST_LAG_MS:g} ms"):
        table.add_column(heading, justify="left" if heading == "server" else "right", no_wrap=True)
    for name, each in churned.items():
        verdict = "yes" if each.p99_ms < MOST_LAG_MS else "NO"
        lag = (f"{each.p50_ms:.1f}", f"{each.p99_ms:.1f}")
        table.add_row(name, f"{each.rate:,.0f}", f"{each.errors}", *lag, f"{each.lost}", verdict)
    return table


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
