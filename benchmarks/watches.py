"""Phases of watches: how soon after a write's answer every watcher has seen it, and how many events a second."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import TypeVar

import msgspec

from benchmarks.bench import Bench
from benchmarks.connection import Answer, Connection
from benchmarks.load import UnexpectedAnswerError
from benchmarks.measurement import Measurement
from benchmarks.phases import Phase
from benchmarks.usage import Usage
from benchmarks.watchers import Opened, Order, Seen, Written

T = TypeVar("T")
_PATIENCE_S = 180.0
_SETTLE_S = 0.5
_runs = count()


class Watchers:
    """The other process, with its watches open."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.opened = Opened(0, 0.0)

    async def ask(self, value: object, answer: type[T]) -> T:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(msgspec.json.encode(value) + b"\n")
        line = await asyncio.wait_for(self.process.stdout.readline(), _PATIENCE_S)
        if not line:
            raise UnexpectedAnswerError("the process of watchers ended")
        return msgspec.json.decode(line, type=answer)


@asynccontextmanager
async def open_watchers(bench: Bench, order: Order) -> AsyncIterator[Watchers]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.watchers",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    bench.processes.own.add(process.pid)
    watchers = Watchers(process)
    try:
        watchers.opened = await watchers.ask(order, Opened)
        await asyncio.sleep(_SETTLE_S)
        yield watchers
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        bench.processes.own.discard(process.pid)


def watching(watchers: int, *, is_burst: bool = False) -> Phase:
    """Writes at a pace, or as fast as all callers can, with so many watchers of the collection."""
    phase = f"{'burst to' if is_burst else 'watch by'} {watchers}"

    async def measure(bench: Bench) -> Measurement:
        _, revision = await bench.objects()
        order = Order(bench.target, watchers, revision, run=f"{phase}-{bench.salt()}-{next(_runs)}-")
        async with open_watchers(bench, order) as others:
            before = bench.processes.usage()
            answered = await (_burst if is_burst else _paced)(bench, order.run)
            seen = await others.ask(Written(answered), Seen)
            used = bench.processes.usage() - before
        expected = others.opened.watchers * len(answered)
        return _measurement(bench, phase, seen, used, lost=expected - seen.delivered, began=before.at)

    return measure


async def _paced(bench: Bench, run: str) -> list[float]:
    answered = []
    for number in range(bench.scale.watch_writes):
        answer = await bench.caller.ask(bench.requests.mark(number % bench.present, f"{run}{number}"))
        answered.append(answer.at)
        await asyncio.sleep(bench.scale.watch_gap_s)
    return answered


async def _burst(bench: Bench, run: str) -> list[float]:
    writes = bench.scale.burst_writes
    answered = [0.0] * writes
    source = iter(range(writes))

    async def caller(connection: Connection) -> None:
        for number in source:
            answer: Answer = await connection.ask(bench.requests.mark(number % bench.present, f"{run}{number}"))
            if answer.status != 200:
                raise UnexpectedAnswerError(f"expected 200, got {answer.status}: {answer.body[:300]!r}")
            answered[number] = answer.at

    await asyncio.gather(*(caller(connection) for connection in bench.callers))
    return answered


def _measurement(bench: Bench, phase: str, seen: Seen, used: Usage, *, lost: int, began: float) -> Measurement:
    each = 1e3 / max(1, seen.delivered)
    return Measurement(
        phase=phase,
        count=seen.delivered,
        seconds=seen.last - began,
        p50_ms=seen.p50_ms,
        p99_ms=seen.p99_ms,
        cpu_ms=used.server * each,
        own_ms=used.own * each,
        other=used.other,
        rss_mib=bench.processes.rss_mib(),
        lost=lost,
    )


WATCHES: tuple[Phase, ...] = (
    watching(50),
    watching(50, is_burst=True),
    watching(500),
    watching(500, is_burst=True),
)
