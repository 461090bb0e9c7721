"""What an object and a watcher cost as they become many: a cost that grows with neither is a line that stays flat.

It ends in time: a size that is not measured by then is named in the last line, and the tables show the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import click
import msgspec
from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.bench import Bench, Scale, open_bench
from benchmarks.measurement import Measurement
from benchmarks.phases import listing
from benchmarks.report import console
from benchmarks.served import scratch, serve
from benchmarks.watches import watching

_SAMPLE = 2000
_BASE_OBJECTS = 1000
_FILLED_AT_ONCE = 10_000
_SCALE = Scale(lists=20, watch_writes=20, watch_gap_s=0.1)


class Objects(NamedTuple):
    """Costs of one number of objects."""

    create: Measurement
    get: Measurement
    patch: Measurement
    page: Measurement
    rss_mib: float
    restart_s: float


async def show_scaling(sizes: Sequence[int], crowds: Sequence[int], *, minutes: float) -> None:
    """Fails if the time is over before all are measured."""
    tables = objects, watchers = _objects_table(), _watchers_table()
    doing = "an idle plane"
    try:
        async with asyncio.timeout(minutes * 60):
            idle_mib = await _idle_mib()
            for size in sizes:
                doing = f"{size:,} objects"
                objects.add_row(*_objects_row(size, await measure_objects(size), idle_mib))
            for crowd in crowds:
                doing = f"{crowd:,} watchers"
                _say(doing)
                watchers.add_row(*_watchers_row(crowd, *await measure_watchers(crowd)))
    except TimeoutError:
        raise click.ClickException(
            f"the {minutes:g} minutes were over while measuring {doing}; allow more with --minutes, or measure fewer"
            " with --objects and --watchers"
        ) from None
    finally:
        for table in tables:
            if table.row_count:
                console().print(table)


def _say(text: str) -> None:
    click.echo(f"measuring {text}", err=True)


def _objects_table() -> Table:
    table = Table(title="Objects", title_justify="left", box=SIMPLE_HEAD)
    for heading in (
        "objects",
        "create CPU ms",
        "get CPU ms",
        "patch CPU ms",
        "page of 500 CPU ms",
        "MiB",
        "kB each",
        "restart s",
    ):
        table.add_column(heading, justify="right")
    return table


def _watchers_table() -> Table:
    table = Table(title="Watchers", title_justify="left", box=SIMPLE_HEAD)
    for heading in (
        "watchers",
        "CPU us an event, its write included",
        "p50 ms after the answer",
        "p99 ms",
        "lost",
        "MiB",
        "burst events a second",
        "CPU us an event",
    ):
        table.add_column(heading, justify="right")
    return table


async def _idle_mib() -> float:
    with scratch() as data, serve(data) as served:
        await asyncio.sleep(1.0)
        return served.processes.rss_mib()


async def measure_objects(size: int) -> Objects:
    """The last `_SAMPLE` of them are measured, since they are made when the others are there."""
    sample = min(_SAMPLE, size // 2)
    with scratch() as data:
        with serve(data) as served:
            async with open_bench(served.target, served.processes, _SCALE) as bench:
                await bench.define()
                for filled in range(0, size - sample, _FILLED_AT_ONCE):
                    _say(f"{size:,} objects: {filled:,} are there")
                    await bench.fill(min(filled + _FILLED_AT_ONCE, size - sample))
                create = await bench.load("create", map(bench.requests.create, range(size - sample, size)), expect=201)
                rss_mib = bench.processes.rss_mib()
                get = await bench.load("get", map(bench.requests.get, _spread(size, sample)), expect=200)
                patch = await _patches(bench, _spread(size, sample))
                page = await listing("page", "limit=500", is_one_page=True)(bench)
        with serve(data) as again:
            return Objects(create, get, patch, page, rss_mib, again.start_s)


def _spread(size: int, sample: int) -> range:
    return range(0, size, max(1, size // sample))


async def _patches(bench: Bench, which: range) -> Measurement:
    salt = bench.salt()
    return await bench.load("patch", (bench.requests.merge_patch(index, salt) for index in which), expect=200)


def _objects_row(size: int, found: Objects, idle_mib: float) -> list[str]:
    return [
        f"{size:,}",
        f"{found.create.cpu_ms:.3f}",
        f"{found.get.cpu_ms:.3f}",
        f"{found.patch.cpu_ms:.3f}",
        f"{found.page.cpu_ms:.2f}",
        f"{found.rss_mib:.0f}",
        f"{(found.rss_mib - idle_mib) * 1024 / size:.2f}",
        f"{found.restart_s:.2f}",
    ]


async def measure_watchers(crowd: int) -> tuple[Measurement, Measurement]:
    scale = msgspec.structs.replace(_SCALE, burst_writes=max(20, 100_000 // crowd // 5))
    with scratch() as data, serve(data) as served:
        async with open_bench(served.target, served.processes, scale) as bench:
            await bench.define()
            await bench.fill(_BASE_OBJECTS)
            return await watching(crowd)(bench), await watching(crowd, is_burst=True)(bench)


def _watchers_row(crowd: int, paced: Measurement, burst: Measurement) -> list[str]:
    return [
        f"{crowd:,}",
        f"{paced.cpu_ms * 1e3:.1f}",
        f"{paced.p50_ms:.2f}",
        f"{paced.p99_ms:.2f}",
        f"{paced.lost + burst.lost}",
        f"{burst.rss_mib:.0f}",
        f"{burst.rate:,.0f}",
        f"{burst.cpu_ms * 1e3:.1f}",
    ]
