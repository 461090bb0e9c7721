"""Two checkouts under the same requests, in turns, by the instructions that a request takes.

Both planes run under valgrind, which counts the instructions of all threads. A busy machine makes this slower and
hardly changes the counts, so it finds a change of one percent where CPU time finds one of four. System calls count as
nothing, and so do cache misses: `alternate` has the last word.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.alternate import ratio_of
from benchmarks.bench import Bench, Reading, Scale
from benchmarks.connection import connect
from benchmarks.measurement import Measurement
from benchmarks.phases import WHOLE_LISTS, WRITES_AND_READS, delete
from benchmarks.report import console
from benchmarks.served import Served, scratch, serve

_SCALE = Scale(objects=100, callers=1, lists=20, tries=1)
_WARM_UP = 1
"""Rounds that do not count: caches fill and code is specialised. They run before valgrind counts, and fast."""
_IDLE_S = 10.0
_PHASES = (*WRITES_AND_READS, *WHOLE_LISTS, delete)


class Counter:
    """The instructions of a process that runs under callgrind."""

    def __init__(self, pid: int, folder: Path) -> None:
        self._pid, self._folder = pid, folder

    @staticmethod
    def command(folder: Path) -> list[str]:
        output = f"--callgrind-out-file={folder}/callgrind.out"
        return ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", output]

    async def start(self) -> None:
        await self._ask("instrumentation", "on")

    async def reset(self) -> None:
        await self._ask("zero")

    async def read(self, phase: str) -> int:
        before = set(self._folder.iterdir())
        await self._ask("dump", phase)
        (written,) = set(self._folder.iterdir()) - before
        return next(
            int(line.split()[1])
            for line in written.read_text().splitlines()
            if line.startswith(("summary:", "totals:")) and len(line.split()) > 1
        )

    async def _ask(self, *words: str) -> None:
        process = await asyncio.create_subprocess_exec(
            "vgdb", f"--pid={self._pid}", *words, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
        )
        _, errors = await process.communicate()
        if process.returncode:
            raise click.ClickException(f"vgdb failed: {errors.decode(errors='replace').strip()}")


class Counts:
    """The instructions a request of each phase, one figure a round."""

    def __init__(self, counter: Counter) -> None:
        self.counter = counter
        self.by_phase: dict[str, list[float]] = {}
        self._idle = 0.0
        """A second, of a plane that nobody asks for anything."""

    async def count_idle(self) -> None:
        await self.counter.reset()
        began = time.monotonic()
        await asyncio.sleep(_IDLE_S)
        self._idle = await self.counter.read("idle") / (time.monotonic() - began)

    async def count(self, load: Awaitable[Measurement]) -> Measurement:
        await self.counter.reset()
        began = time.monotonic()
        measured = await load
        # Requests take fifty times as long under valgrind, and what happens every second happens fifty times as often.
        idle = self._idle * (time.monotonic() - began)
        total = await self.counter.read(measured.phase.replace(" ", "-")) - idle
        self.by_phase.setdefault(measured.phase, []).append(total / measured.count)
        return measured


class CountingBench(Bench):
    """A bench whose loads are counted by their phase; those without a name set the scene."""

    counts: Counts | None = None

    async def load(self, phase: str, requests: Iterable[bytes], *, expect: int, callers: int = 0) -> Measurement:
        made = list(requests)
        if self.counts is None or not phase:
            return await super().load(phase, made, expect=expect, callers=callers)
        return await self.counts.count(super().load(phase, made, expect=expect, callers=callers))

    async def repeat(self, phase: str, read: Callable[[], Awaitable[Reading]]) -> Measurement:
        measured = super().repeat(phase, read)
        return await measured if self.counts is None else await self.counts.count(measured)


async def show_instructions(checkout: Path, *, rounds: int, profile: Path | None) -> None:
    python = checkout / ".venv" / "bin" / "python"
    if not python.exists():
        raise click.UsageError(f"{checkout} has no .venv; run `make dev` there")
    if not shutil.which("valgrind") or not shutil.which("vgdb"):
        raise click.UsageError("valgrind is missing; on Debian: apt-get install valgrind")
    with (
        _folder(profile, "base") as base_profile,
        _folder(profile, "here") as here_profile,
        scratch() as base_data,
        scratch() as data,
        serve(base_data, python=str(python), folder=checkout, under=Counter.command(base_profile)) as base,
        serve(data, under=Counter.command(here_profile)) as here,
    ):
        base_counts = await _start(base, base_profile)
        counts = await _start(here, here_profile)
        for number in range(rounds):
            await _count(base, base_counts)
            await _count(here, counts)
            print(f"\rround {number + 1} of {rounds}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
    console().print(_table(base_counts.by_phase, counts.by_phase))


@contextmanager
def _folder(profile: Path | None, name: str) -> Iterator[Path]:
    if profile is None:
        with scratch() as folder:
            yield folder
    else:
        folder = profile.resolve() / name
        folder.mkdir(parents=True)
        yield folder


@asynccontextmanager
async def _open(served: Served) -> AsyncIterator[CountingBench]:
    caller = await connect(served.target, served.target.context())
    try:
        yield CountingBench(served.target, served.processes, _SCALE, [caller])
    finally:
        caller.close()


async def _start(served: Served, folder: Path) -> Counts:
    """Defines the kind, warms up, and then lets valgrind count."""
    async with _open(served) as bench:
        await bench.define()
        for _ in range(_WARM_UP):
            await _round(bench)
    counts = Counts(Counter(served.pid, folder))
    await counts.counter.start()
    await counts.count_idle()
    return counts


async def _count(served: Served, counts: Counts) -> None:
    """One round, on a connection of its own: an older one may have been idle for too long."""
    async with _open(served) as bench:
        bench.counts = counts
        await _round(bench)


async def _round(bench: Bench) -> None:
    for phase in _PHASES:
        await phase(bench)


def _table(base: Mapping[str, Sequence[float]], here: Mapping[str, Sequence[float]]) -> Table:
    number = len(next(iter(base.values())))
    table = Table(title=f"The other checkout, then this one; {number} rounds", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("phase", no_wrap=True)
    for heading in ("thousand instructions there", "here", "change", "95 %"):
        table.add_column(heading, justify="right", no_wrap=True)
    for phase, counts in base.items():
        ratio = ratio_of([mine / theirs for theirs, mine in zip(counts, here[phase], strict=True)])
        there, now = statistics.median(counts) / 1000, statistics.median(here[phase]) / 1000
        table.add_row(phase, f"{there:.1f}", f"{now:.1f}", f"{ratio.median - 1:+.1%}", f"±{ratio.half_width:.1%}")
    return table
