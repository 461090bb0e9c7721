"""One operator through all phases on a server of its own.

Objects that were there before it began, then none of its business for a while (memory, idle CPU), then changes at a
steady rate, then more objects while it runs. A reconcile counts when its stamp shows in a watch of this process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter

import msgspec

from benchmarks.bench import Bench, Scale, open_bench
from benchmarks.load import UnexpectedAnswerError, drive
from benchmarks.measurement import DISTURBED, percentile
from benchmarks.runtime.sides import Server, Side, operate
from benchmarks.runtime.stamps import MARK, Stamps, see_stamps
from benchmarks.usage import Processes, cpu_seconds, rss_mib

_STAMPED_WITHIN_S = 150.0
_IDLE_CPU = 0.02
_SETTLED_WITHIN_S = 40.0
_IDLE_S = 3.0
_CREATORS = 16
_CALM_LOOKS, _CALM_LOOK_S = 30, 0.5
_LONE, _LONE_GAP_S = 200, 0.01


class Load(msgspec.Struct, frozen=True):
    objects: int = 10_000
    changes: int = 1000
    changes_per_s: float = 100.0
    more: int = 2000
    """Created while the operator runs."""


class Figures(msgspec.Struct, kw_only=True):
    start_s: float
    """From the start of the process to its first stamp."""
    rate: float
    """Stamps a second, of objects that were there before."""
    cpu_ms: float
    """CPU of the operator for each of them."""
    rss_mib: float
    pss_mib: float
    idle_percent: float
    p50_ms: float
    p99_ms: float
    change_cpu_ms: float
    more_rate: float
    server_cpu_ms: float
    """CPU of the server for each reconcile of the first sync, watches included."""
    lone_ms: float
    """One status patch by itself on the idle server, from the request to its answer: p50."""
    other: float
    """What share of one core everybody else used while the rate was measured."""


class _Scene:
    def __init__(self, bench: Bench, stamps: Stamps, pid: int) -> None:
        self.bench, self.stamps, self.pid = bench, stamps, pid

    def cpu_s(self) -> float:
        return cpu_seconds(self.pid)


async def measure(side: Side, server: Server, load: Load) -> Figures:
    processes = Processes(server.pids)
    async with open_bench(server.target, processes, Scale()) as bench:
        await bench.define()
        await bench.fill(load.objects)
        lone_ms = await _lone(bench)
        _, revision = await bench.objects()
        await _calm(processes)
        async with see_stamps(server.target, revision) as stamps:
            began = perf_counter()
            with operate(side, server.kubeconfig) as pid:
                scene = _Scene(bench, stamps, pid)
                figures = await _phases(scene, load, began)
    figures.lone_ms = lone_ms
    return figures


async def _lone(bench: Bench) -> float:
    """For comparison, and no bound: a watch hears of a write before the writer has its answer."""
    taken = []
    for number in range(_LONE):
        await asyncio.sleep(_LONE_GAP_S)
        began = perf_counter()
        answer = await bench.caller.ask(bench.requests.observe(0, number + 1000))
        if answer.status != 200:
            raise UnexpectedAnswerError(f"a status patch: {answer.status} {answer.body[:300].decode(errors='replace')}")
        taken.append(answer.at - began)
    return percentile(sorted(taken), 0.5) * 1e3


async def _calm(processes: Processes) -> None:
    """Until others leave the machine alone, for a while."""
    for _ in range(_CALM_LOOKS):
        before = processes.usage()
        await asyncio.sleep(_CALM_LOOK_S)
        if (processes.usage() - before).other <= DISTURBED:
            return


async def _phases(scene: _Scene, load: Load, began: float) -> Figures:
    start_s, rate, cpu_ms, server_cpu_ms, other = await _sync(scene, load.objects, began)
    await settle(scene.pid)
    rss, pss = rss_mib(scene.pid), pss_mib(scene.pid)
    idle_percent = await _idle(scene)
    p50_ms, p99_ms, change_cpu_ms = await _changes(scene, load)
    return Figures(
        start_s=start_s,
        rate=rate,
        cpu_ms=cpu_ms,
        rss_mib=rss,
        pss_mib=pss,
        idle_percent=idle_percent,
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        change_cpu_ms=change_cpu_ms,
        more_rate=await _more(scene, load),
        server_cpu_ms=server_cpu_ms,
        lone_ms=0.0,
        other=other,
    )


async def _sync(scene: _Scene, objects: int, began: float) -> tuple[float, float, float, float, float]:
    stamps, processes = scene.stamps, scene.bench.processes
    await stamps.stamped(1, within_s=_STAMPED_WITHIN_S)
    before, cpu_before = processes.usage(), scene.cpu_s()
    await stamps.stamped(objects, within_s=_STAMPED_WITHIN_S)
    cpu_s, used = scene.cpu_s() - cpu_before, processes.usage() - before
    times = stamps.first.values()
    rate = objects / (max(times) - min(times))
    server_cpu_ms = used.server / objects * 1e3
    return min(times) - began, rate, cpu_s / objects * 1e3, server_cpu_ms, max(0.0, used.other - cpu_s / used.at)


async def settle(pid: int) -> None:
    """Until the operator does next to nothing: what it still does would be in the figures that follow."""
    deadline = perf_counter() + _SETTLED_WITHIN_S
    while perf_counter() < deadline:
        before = cpu_seconds(pid)
        await asyncio.sleep(1.0)
        if cpu_seconds(pid) - before < _IDLE_CPU:
            return


async def _idle(scene: _Scene) -> float:
    before = scene.cpu_s()
    await asyncio.sleep(_IDLE_S)
    return (scene.cpu_s() - before) / _IDLE_S * 100


async def _changes(scene: _Scene, load: Load) -> tuple[float, float, float]:
    before = scene.cpu_s()
    marks = [f"{MARK}{number}" for number in range(load.changes)]
    answered = await _write_steadily(scene.bench, marks, load.changes_per_s)
    await scene.stamps.repeated(marks, within_s=_STAMPED_WITHIN_S)
    late = sorted(scene.stamps.marked[mark] - at for mark, at in answered.items())
    cpu_ms = (scene.cpu_s() - before) / load.changes * 1e3
    return percentile(late, 0.5) * 1e3, percentile(late, 0.99) * 1e3, cpu_ms


async def _write_steadily(bench: Bench, marks: Iterable[str], per_s: float) -> dict[str, float]:
    """When each change was acknowledged. A server that is slow does not make the next one wait."""
    answered: dict[str, float] = {}
    free = list(bench.callers)

    async def write(index: int, mark: str) -> None:
        if not free:
            raise UnexpectedAnswerError(
                f"{len(bench.callers)} changes are under way: the server cannot keep up;"
                " measure on a machine with less to do"
            )
        caller = free.pop()
        answer = await caller.ask(bench.requests.mark(index, mark))
        if answer.status != 200:
            raise UnexpectedAnswerError(f"{mark}: {answer.status} {answer.body[:300].decode(errors='replace')}")
        answered[mark] = answer.at
        free.append(caller)

    began = perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for number, mark in enumerate(marks):
            await asyncio.sleep(max(0.0, began + number / per_s - perf_counter()))
            tasks.create_task(write(number % bench.present, mark))
    return answered


async def _more(scene: _Scene, load: Load) -> float:
    """From the first request until the last stamp: no quicker than the server creates."""
    bench = scene.bench
    total = bench.present + load.more
    began = perf_counter()
    requests = map(bench.requests.create, range(bench.present, total))
    # So few that they and an operator do not run into the limit of writes at once.
    await drive(bench.callers[:_CREATORS], requests, expect=201)
    await scene.stamps.stamped(total, within_s=_STAMPED_WITHIN_S)
    return load.more / (max(scene.stamps.first.values()) - began)


def pss_mib(pid: int) -> float:
    """Memory with what is shared divided among those who share it."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0
