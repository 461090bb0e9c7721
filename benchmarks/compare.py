"""One server through all phases."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from benchmarks import wrk
from benchmarks.bench import Scale, open_bench
from benchmarks.phases import LISTS, ONE_CALLER, WRITES_AND_READS, Phase, delete, listing
from benchmarks.report import Report, machine
from benchmarks.served import scratch, serve
from benchmarks.target import Target
from benchmarks.usage import Processes, cpu_seconds
from benchmarks.watches import WATCHES

_MANY = 20_000
_IDLE_S = 2.0
_STARTS = 4


async def load_own(scale: Scale, *, is_quick: bool) -> Report:
    report = Report(machine(), scale.objects)
    report.figures |= _start_figures()
    with scratch() as data, serve(data) as served:
        await asyncio.sleep(_IDLE_S)
        report.figures["memory, idle"] = served.processes.rss_mib()
        await _run_phases(served.target, served.processes, scale, report)
    if not is_quick:
        await _measure_memory(report)
    return report


def _start_figures() -> dict[str, float]:
    """The quickest of a few starts on an empty directory; the first of them may find no compiled modules."""
    seconds, cpu = [], []
    for _ in range(_STARTS):
        with scratch() as data, serve(data) as served:
            seconds.append(served.start_s)
            cpu.append(cpu_seconds(served.pid))
    return {"start to ready": min(seconds), "start, CPU": min(cpu)}


async def load_another(scale: Scale, target: Target, processes: Processes) -> Report:
    report = Report(machine(), scale.objects)
    await _run_phases(target, processes, scale, report)
    return report


async def _run_phases(target: Target, processes: Processes, scale: Scale, report: Report) -> None:
    async with open_bench(target, processes, scale) as bench:
        report.figures["new kind served"] = await bench.define()
        for phase in _phases(report):
            measured = await bench.quietly(phase)
            report.measurements.append(measured)
            _progress(f"{measured.phase}: {measured.rate:,.0f}/s, CPU {measured.cpu_ms:.3f} ms each")


def _phases(report: Report) -> Sequence[Phase]:
    if wrk.is_installed():
        plain: tuple[Phase, ...] = (wrk.get_by_wrk,)
    else:
        plain = ()
        report.notes.append("wrk is not on PATH: plain reads are measured by this generator alone, which is the limit.")
    return (*WRITES_AND_READS, *plain, *LISTS, *WATCHES, *ONE_CALLER, delete)


async def _measure_memory(report: Report) -> None:
    """In a plane of its own, that has done nothing else."""
    with scratch() as data, serve(data) as served:
        async with open_bench(served.target, served.processes, Scale()) as bench:
            await bench.define()
            await bench.fill(_MANY)
            await asyncio.sleep(_IDLE_S)
            report.figures["memory, 20,000 objects"] = bench.processes.rss_mib()
            await listing("")(bench)
            report.figures["memory, 20,000 objects listed whole"] = bench.processes.rss_mib()


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
