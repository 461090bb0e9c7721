"""What a change costs an operator as the objects around it become many: a line that should stay flat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.bench import Scale, open_bench
from benchmarks.load import drive
from benchmarks.runtime.phases import pss_mib, settle
from benchmarks.runtime.sides import OURS, Server, operate
from benchmarks.runtime.stamps import MARK, see_stamps
from benchmarks.usage import Processes, cpu_seconds

_CHANGES = 1000
_CALLERS = 8
_WITHIN_S = 120.0


class Size(NamedTuple):
    objects: int
    cpu_ms: float
    """Of the operator, for each change."""
    pss_mib: float


async def measure_growth(server: Server, sizes: Sequence[int]) -> list[Size]:
    """One server and one operator, ever more objects."""
    found: list[Size] = []
    async with open_bench(server.target, Processes(server.pids), Scale()) as bench:
        await bench.define()
        _, revision = await bench.objects()
        async with see_stamps(server.target, revision) as stamps:
            with operate(OURS, server.kubeconfig) as pid:
                for size in sizes:
                    await bench.fill(size)
                    await stamps.stamped(size, within_s=_WITHIN_S)
                    await settle(pid)
                    marks = [f"{MARK}{size}-{number}" for number in range(_CHANGES)]
                    spread = range(0, size, max(1, size // _CHANGES))
                    before = cpu_seconds(pid)
                    writes = [bench.requests.mark(at, mark) for at, mark in zip(spread, marks, strict=False)]
                    await drive(bench.callers[:_CALLERS], writes, expect=200)
                    await stamps.repeated(marks[: len(writes)], within_s=_WITHIN_S)
                    found.append(Size(size, (cpu_seconds(pid) - before) / len(writes) * 1e3, pss_mib(pid)))
    return found
