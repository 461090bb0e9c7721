"""Two checkouts under the same load, in turns of a few hundred requests.

Both planes run at once and each phase goes to one and then to the other, so that a noisy machine disturbs both alike.
The ratio within a pair of turns says more than two runs apart, which differ by up to 50 % on a shared machine.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.bench import Bench, Scale, open_bench
from benchmarks.measurement import Measurement
from benchmarks.phases import LISTS, ONE_CALLER, WRITES_AND_READS, delete
from benchmarks.report import console
from benchmarks.served import scratch, serve

_SCALE = Scale(objects=300, callers=20, lists=3, tries=1)
_WARM_UP = 2
"""Rounds that do not count: caches fill and code is specialised."""
_FEWEST = 4
_PHASES = (*WRITES_AND_READS, *LISTS, *ONE_CALLER, delete)
_MEDIAN_INTERVAL = 1.57
"""The half width of a 95 % interval of a median, in interquartile ranges divided by the root of the count."""


class Pair(NamedTuple):
    base: Measurement
    here: Measurement


class Ratio(NamedTuple):
    median: float
    half_width: float
    """Of its 95 % interval."""


def ratio_of(values: Sequence[float]) -> Ratio:
    quarters = statistics.quantiles(values, n=4)
    half_width = _MEDIAN_INTERVAL * (quarters[2] - quarters[0]) / math.sqrt(len(values))
    return Ratio(statistics.median(values), half_width)


async def show_alternation(checkout: Path, *, minutes: float) -> None:
    python = checkout / ".venv" / "bin" / "python"
    if not python.exists():
        raise click.UsageError(f"{checkout} has no .venv; run `make dev` there")
    with (
        scratch() as base_data,
        scratch() as data,
        serve(base_data, python=str(python), folder=checkout) as base,
        serve(data) as here,
    ):
        async with (
            open_bench(base.target, base.processes, _SCALE) as base_bench,
            open_bench(here.target, here.processes, _SCALE) as bench,
        ):
            await base_bench.define()
            await bench.define()
            pairs = await _alternate(base_bench, bench, until=time.monotonic() + minutes * 60)
    console().print(_table(pairs))


async def _alternate(base: Bench, here: Bench, *, until: float) -> Mapping[str, Sequence[Pair]]:
    pairs: dict[str, list[Pair]] = {}
    rounds = 0
    while rounds < _WARM_UP + _FEWEST or time.monotonic() < until:
        for phase in _PHASES:
            # Who begins changes, because the second of a pair finds a warmer machine.
            if rounds % 2:
                second = await phase(here)
                pair = Pair(await phase(base), second)
            else:
                pair = Pair(await phase(base), await phase(here))
            if rounds >= _WARM_UP:
                pairs.setdefault(pair.here.phase, []).append(pair)
        rounds += 1
        print(f"\rround {rounds}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return pairs


def _table(pairs: Mapping[str, Sequence[Pair]]) -> Table:
    number = len(next(iter(pairs.values())))
    table = Table(title=f"The other checkout, then this one; {number} rounds", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("phase", no_wrap=True)
    for heading in ("CPU ms there", "here", "CPU", "95 %", "rate", "95 %"):
        table.add_column(heading, justify="right", no_wrap=True)
    for phase, found in pairs.items():
        cpu = ratio_of([pair.here.cpu_ms / pair.base.cpu_ms for pair in found if pair.base.cpu_ms])
        rate = ratio_of([pair.here.rate / pair.base.rate for pair in found])
        there = statistics.median(pair.base.cpu_ms for pair in found)
        here = statistics.median(pair.here.cpu_ms for pair in found)
        table.add_row(phase, f"{there:.3f}", f"{here:.3f}", *_texts(cpu), *_texts(rate))
    return table


def _texts(ratio: Ratio) -> tuple[str, str]:
    return f"{ratio.median - 1:+.1%}", f"±{ratio.half_width:.1%}"
