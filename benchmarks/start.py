"""How long a plane takes to serve, and what it takes while idle: an empty one with all operators, started in turns.

With another checkout the starts alternate, so that a noisy machine disturbs both alike. The least counts: whatever else
runs on the machine only adds to it. A first start makes keys, roles and definitions; a restart finds them.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.report import console
from benchmarks.served import scratch, serve
from benchmarks.usage import cpu_seconds, ended_children_seconds, rss_mib

_IDLE_S = 4.0
_STARTS = ("first start", "restart")


class Start(NamedTuple):
    ready_s: float
    cpu_s: float
    """Until it was ready, with the process that issues the credentials of a first start."""
    idle_mib: float


class Side(NamedTuple):
    name: str
    python: str
    folder: Path | None


def show_starts(checkout: Path | None, *, rounds: int) -> None:
    sides = [Side("here", sys.executable, None)]
    if checkout is not None:
        python = checkout / ".venv" / "bin" / "python"
        if not python.exists():
            raise click.UsageError(f"{checkout} has no .venv; run `make dev` there")
        sides.insert(0, Side("there", str(python), checkout))
    found: dict[tuple[str, str], list[Start]] = {}
    for _ in range(rounds):
        for side in sides:
            with scratch() as data:
                for start in _STARTS:
                    found.setdefault((side.name, start), []).append(_start(data, side))
    console().print(_table(found, rounds))


def _start(data: Path, side: Side) -> Start:
    with serve(data, python=side.python, folder=side.folder) as served:
        cpu_s = cpu_seconds(served.pid) + ended_children_seconds(served.pid)
        time.sleep(_IDLE_S)
        return Start(served.start_s, cpu_s, rss_mib(served.pid))


def _table(found: dict[tuple[str, str], list[Start]], rounds: int) -> Table:
    table = Table(title=f"Least and median of {rounds} starts", title_justify="left", box=SIMPLE_HEAD)
    for heading in ("checkout", "start"):
        table.add_column(heading, no_wrap=True)
    for heading in ("ready s", "CPU s until then", f"MiB after {_IDLE_S:g} s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for (side, start), starts in found.items():
        ready, cpu, memory = (_figures(list(each)) for each in zip(*starts, strict=True))
        table.add_row(side, start, ready, cpu, memory)
    return table


def _figures(values: Sequence[float]) -> str:
    return f"{min(values):.2f} / {statistics.median(values):.2f}"
