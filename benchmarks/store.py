"""The store without a server: durable writes a second by the number of writers, and how soon a log is read again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import perf_counter, process_time

from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.report import console
from benchmarks.served import scratch
from homeostat.store.base import Draft, Key, Put
from homeostat.store.sqlite import SqliteStore

_VALUE = b'",' + b"x" * 1360 + b"}"
_WRITERS = (1, 10, 50, 200)
_MOST_S = 2.0
_MOST_WRITES = 20_000


async def show_store() -> None:
    table = Table(title="Store on SQLite, fsync on, values of 1.36 kB", title_justify="left", box=SIMPLE_HEAD)
    for heading in ("writers", "rows a second", "rows a commit", "CPU us a row", "opened again, rows a second"):
        table.add_column(heading, justify="right")
    for writers in _WRITERS:
        with scratch() as folder:
            table.add_row(*await _measure(folder / "bench.db", writers))
    console().print(table)


async def _measure(path: Path, writers: int) -> list[str]:
    store = await SqliteStore.open(path)
    began, began_cpu = perf_counter(), process_time()
    await asyncio.gather(*(_write(store, writer, writers, began + _MOST_S) for writer in range(writers)))
    seconds, cpu, rows = perf_counter() - began, process_time() - began_cpu, store.counters.rows
    a_commit = rows / store.counters.batches
    await store.close()
    began = perf_counter()
    store = await SqliteStore.open(path)
    reopened_s = perf_counter() - began
    await store.close()
    return [
        f"{writers}",
        f"{rows / seconds:,.0f}",
        f"{a_commit:.1f}",
        f"{cpu / rows * 1e6:.0f}",
        f"{rows / reopened_s:,.0f}",
    ]


async def _write(store: SqliteStore, writer: int, writers: int, end: float) -> None:
    for number in range(writer, _MOST_WRITES, writers):
        if perf_counter() > end:
            return
        await store.write(Put(Key("widgets", "bench", f"w-{number:06d}"), Draft(b'{"v":"', _VALUE), 0))
