"""A plugin that takes a millisecond, finds drift now and then, and notes when it was asked about which resource.

The plane finds it as it finds any other: by the entry point of an installed package, which `installed` feigns. The
notes are a file of fixed records, by a clock that all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import os
import random
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import msgspec

from homeostat.operators.actions.plugins.plugin import Job, Tools
from homeostat.operators.actions.runs.run import Changes, Outcome
from homeostat.operators.actions.world import Plan

NAME = "bench"
PLANNED, APPLIED = 0, 1
_ROOT = Path(__file__).parents[2]
_NOTES = "HOMEOSTAT_BENCH_NOTES"
_TAKES_S = 0.001
_DRIFT = 0.005
_record = struct.Struct("<IId")
_CLOSE = 0o644


class Note(NamedTuple):
    """`kind` is `PLANNED` or `APPLIED`."""

    number: int
    kind: int
    at: float


class BenchConfig(msgspec.Struct, frozen=True):
    pass


class BenchPlugin:
    name, version, config = NAME, "1.0.0", BenchConfig

    def __init__(self, tools: Tools) -> None:
        self._file = os.open(tools.environment[_NOTES], os.O_WRONLY | os.O_APPEND | os.O_CREAT, _CLOSE)
        self._drifted: set[str] = set()

    async def plan(self, job: Job[BenchConfig]) -> Plan:
        is_plan = job.purpose == "plan"
        if is_plan:
            self._note(job, PLANNED)
            if random.random() < _DRIFT:
                self._drifted.add(job.name)
        await asyncio.sleep(_TAKES_S)
        return Plan(not job.is_applied or job.name in self._drifted, Changes(updated=1), "one thing differs")

    async def apply(self, job: Job[BenchConfig]) -> Outcome:
        self._note(job, APPLIED)
        await asyncio.sleep(_TAKES_S)
        self._drifted.discard(job.name)
        return Outcome(is_success=True, outputs={"address": f"{job.name}.example.com"}, changes=Changes(updated=1))

    async def destroy(self, _job: Job[BenchConfig]) -> Outcome:
        return Outcome(is_success=True)

    def _note(self, job: Job[BenchConfig], kind: int) -> None:
        os.write(self._file, _record.pack(job.spec["number"], kind, monotonic()))


def read_notes(path: Path, *, after: int = 0) -> list[Note]:
    """All but the first so many."""
    with path.open("rb") as file:
        file.seek(after * _record.size)
        return [Note(*each) for each in _record.iter_unpack(_whole(file.read()))]


def _whole(data: bytes) -> bytes:
    return data[: len(data) - len(data) % _record.size]


@contextmanager
def installed(folder: Path, notes: Path) -> Iterator[None]:
    """Processes started in the block find the plugin."""
    package = folder / "homeostat_bench-1.0.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: homeostat-bench\nVersion: 1.0.0\n")
    (package / "entry_points.txt").write_text(f"[homeostat.actions]\n{NAME} = {__name__}:BenchPlugin\n")
    before = dict(os.environ)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), str(_ROOT), before.get("PYTHONPATH", "")])
    os.environ[_NOTES] = str(notes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
