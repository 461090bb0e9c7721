"""The result of a soak as a table."""

from __future__ import annotations

from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.report import console, machine
from benchmarks.soak.probe import Sample
from benchmarks.soak.soak import Bounds, Result, rows


def show_soak(result: Result, bounds: Bounds) -> bool:
    """Prints the table; returns whether all bounds hold."""
    out = console()
    table = Table(box=SIMPLE_HEAD, title=f"soak: {machine()}")
    for title in ("attack", "runs", "longest s", "/readyz ms p99 / longest", "turn CPU ms", "last outcome"):
        table.add_column(title, justify="left" if title in {"attack", "last outcome"} else "right")
    for row in rows(result):
        table.add_row(*row)
    out.print(table)
    peak = max((mib for _, mib in result.memory), default=0.0)
    out.print(
        f"honest writes: {result.acknowledged} acknowledged, {result.refused} refused or without an answer, "
        f"{result.lost} lost; watch: {result.gaps} missed, {len(result.faults)} faults\n"
        f"/readyz: {len(result.samples)} samples, p99 {result.p99_ms:.1f} ms, longest "
        f"{_longest(result.samples):.0f} ms, {result.failures} failures\n"
        f"/readyz of an idle plane beside it: p99 {result.idle_p99_ms:.1f} ms, longest {_longest(result.idle):.0f} ms\n"
        f"memory: by rounds of all attacks {_list(result.rounds)} MiB, peak {peak:.0f}; by tenths of the run "
        f"{_list(result.memory_of(number, 10) for number in range(10))}\n"
        f"log: {len(result.errors)} errors{''.join(f', {line}' for line in result.errors[:3])}"
    )
    if turn := result.longest_turn():
        out.print(f"longest turn: {turn.own_ms:.0f} ms of CPU; {turn.causes()}; at {' < '.join(turn.where[:4])}")
    broken = result.broken(bounds)
    for each in broken:
        out.print(f"BROKEN: {each}")
    if (rounds := len(result.rounds)) < bounds.rounds:
        out.print(f"memory is not judged: {rounds} rounds of all attacks, and it needs {bounds.rounds}")
    if not broken:
        out.print("all bounds hold")
    return not broken


def _list(mib: Iterable[float]) -> str:
    return " ".join(f"{each:.0f}" for each in mib)


def _longest(samples: list[Sample]) -> float:
    return max((each.ms for each in samples), default=0.0)
