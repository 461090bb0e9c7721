"""Objects that change at a steady rate, and how soon an operator's status shows it.

A change that is overtaken by the next one of its key counts with the time that it had; a status that never shows the
newest is an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple

import msgspec

from benchmarks.bench import Bench
from benchmarks.connection import Connection
from benchmarks.load import UnexpectedAnswerError
from benchmarks.measurement import percentile
from benchmarks.usage import Processes, cpu_seconds
from homeostat.client.base import Client
from homeostat.objects.json import Json, JsonObject

_WITHIN_S = 60.0


class Change(NamedTuple):
    key: str
    """Of the object whose status must show it."""
    expected: Json
    request: bytes


class Statuses(NamedTuple):
    """The objects whose status shows the changes: where they are, the key of one, and what its status shows."""

    path: str
    key: Callable[[JsonObject], str]
    shown: Callable[[JsonObject], Json]


class Changes(msgspec.Struct, frozen=True):
    p50_ms: float
    p99_ms: float
    answered_p99_ms: float
    """Until the plane had answered the change itself."""
    cpu_ms: float
    """Of the operator, for each."""
    other: float
    """What share of one core everybody else used meanwhile."""


def rows_of(changes: Changes, what: str, *, per_s: int, wanted: str) -> list[tuple[str, str, str]]:
    """Of a table of what was measured and what is wanted."""
    return [
        (f"{what} changed to status seen, {per_s}/s, p50", f"{changes.p50_ms:.1f} ms", ""),
        ("the same, p99", f"{changes.p99_ms:.1f} ms", wanted),
        ("of it until the plane answered the change, p99", f"{changes.answered_p99_ms:.1f} ms", ""),
        ("the operator's CPU for a change", f"{changes.cpu_ms:.2f} ms", ""),
    ]


async def measure_changes(
    bench: Bench, client: Client, pid: int, statuses: Statuses, changes: Sequence[Change], *, per_s: int
) -> Changes:
    """`pid` is the operator's."""
    processes = Processes([*bench.processes.server, pid])
    before, cpu = processes.usage(), cpu_seconds(pid)
    _, revision = await client.list(statuses.path, limit=1)
    waiting = _Waiting(statuses)
    seeing = asyncio.create_task(waiting.follow(client, revision))
    try:
        answered = sorted(await _send(bench, changes, waiting, per_s))
        await waiting.settled()
    finally:
        seeing.cancel()
    taken = sorted(waiting.taken)
    return Changes(
        p50_ms=percentile(taken, 0.5) * 1e3,
        p99_ms=percentile(taken, 0.99) * 1e3,
        answered_p99_ms=percentile(answered, 0.99) * 1e3,
        cpu_ms=(cpu_seconds(pid) - cpu) / len(taken) * 1e3,
        other=(processes.usage() - before).other,
    )


class _Waiting:
    """By key: when the change was sent, and what the status must show then."""

    def __init__(self, statuses: Statuses) -> None:
        self.taken: list[float] = []
        self._statuses = statuses
        self._awaited: dict[str, tuple[float, Json]] = {}
        self._none = asyncio.Event()

    def expect(self, change: Change) -> float:
        self._take(change.key)
        moment = perf_counter()
        self._awaited[change.key] = moment, change.expected
        self._none.clear()
        return moment

    async def follow(self, client: Client, revision: str) -> None:
        path, key_of, shown = self._statuses
        async for event in client.watch(path, resourceVersion=revision):
            key = key_of(event.obj)
            awaited = self._awaited.get(key)
            if awaited is not None and shown(event.obj) == awaited[1]:
                self._take(key)

    async def settled(self) -> None:
        try:
            await asyncio.wait_for(self._none.wait(), _WITHIN_S)
        except TimeoutError:
            missing = ", ".join(sorted(self._awaited))
            raise UnexpectedAnswerError(f"not reported after {_WITHIN_S:g} s: {missing}") from None

    def _take(self, key: str) -> None:
        if (awaited := self._awaited.pop(key, None)) is not None:
            self.taken.append(perf_counter() - awaited[0])
        if not self._awaited:
            self._none.set()


async def _send(bench: Bench, changes: Sequence[Change], waiting: _Waiting, per_s: int) -> list[float]:
    """How long the plane took to answer each change."""
    begin = perf_counter()
    answered: list[float] = []
    free: asyncio.LifoQueue[Connection] = asyncio.LifoQueue()
    for each in bench.callers:
        free.put_nowait(each)

    async def send(change: Change) -> None:
        moment = waiting.expect(change)
        caller = await free.get()
        answered.append((await caller.ask(change.request)).at - moment)
        free.put_nowait(caller)

    async with asyncio.TaskGroup() as tasks:
        for at, change in enumerate(changes):
            await asyncio.sleep(max(0.0, begin + at / per_s - perf_counter()))
            tasks.create_task(send(change))
    return answered
