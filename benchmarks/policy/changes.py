"""Pods that change at a steady rate, and how soon the status of their policy shows it.

The first Pod of each namespace becomes worse in one round and better in the next. A change that is overtaken by the
next one of its namespace counts with the time that it had; a status that never shows the newest is an error.
"""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import NamedTuple

import msgspec

from benchmarks.bench import Bench
from benchmarks.connection import Connection
from benchmarks.load import UnexpectedAnswerError
from benchmarks.measurement import percentile
from benchmarks.usage import Processes, cpu_seconds
from homeostat.client.base import Client
from homeostat.operators.policy.api import DEVOPS_POLICY

_WITHIN_S = 60.0
_PATCH = "application/json-patch+json"


class Rounds(NamedTuple):
    """The changes are an even number of rounds through the namespaces, so that the next try begins where one did."""

    namespaces: int
    changes: int
    per_s: int


class Changes(msgspec.Struct, frozen=True):
    p50_ms: float
    p99_ms: float
    answered_p99_ms: float
    """Until the plane had answered the change itself."""
    cpu_ms: float
    """Of the operator, for each."""
    other: float
    """What share of one core everybody else used meanwhile."""


async def measure_changes(bench: Bench, client: Client, pid: int, rounds: Rounds) -> Changes:
    """`pid` is the operator's."""
    processes = Processes([*bench.processes.server, pid])
    before, cpu = processes.usage(), cpu_seconds(pid)
    found, revision = await client.list(DEVOPS_POLICY.kind.path(""))
    waiting = _Waiting({each["metadata"]["namespace"]: each["status"]["violations"] for each in found})
    seeing = asyncio.create_task(waiting.follow(client, revision))
    try:
        answered = sorted(await _send(bench, rounds, waiting))
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
    """By namespace: when its Pod was changed, and how many violations the status must show then."""

    def __init__(self, usual: dict[str, int]) -> None:
        self.taken: list[float] = []
        self._usual = usual
        self._awaited: dict[str, tuple[float, int]] = {}
        self._none = asyncio.Event()

    def expect(self, namespace: str, *, is_worse: bool) -> float:
        self._take(namespace)
        moment = perf_counter()
        self._awaited[namespace] = moment, self._usual[namespace] + is_worse
        self._none.clear()
        return moment

    async def follow(self, client: Client, revision: str) -> None:
        async for event in client.watch(DEVOPS_POLICY.kind.path(""), resourceVersion=revision):
            namespace = event.obj["metadata"]["namespace"]
            awaited = self._awaited.get(namespace)
            if awaited is not None and event.obj["status"]["violations"] == awaited[1]:
                self._take(namespace)

    async def settled(self) -> None:
        try:
            await asyncio.wait_for(self._none.wait(), _WITHIN_S)
        except TimeoutError:
            missing = ", ".join(sorted(self._awaited))
            raise UnexpectedAnswerError(f"not reported after {_WITHIN_S:g} s: {missing}") from None

    def _take(self, namespace: str) -> None:
        if (awaited := self._awaited.pop(namespace, None)) is not None:
            self.taken.append(perf_counter() - awaited[0])
        if not self._awaited:
            self._none.set()


async def _send(bench: Bench, rounds: Rounds, waiting: _Waiting) -> list[float]:
    """How long the plane took to answer each change."""
    begin = perf_counter()
    answered: list[float] = []
    free: asyncio.LifoQueue[Connection] = asyncio.LifoQueue()
    for each in bench.callers:
        free.put_nowait(each)

    async def send(number: int, *, is_worse: bool) -> None:
        image = "web:latest" if is_worse else "web:v1"
        patch = msgspec.json.encode([{"op": "replace", "path": "/spec/containers/0/image", "value": image}])
        path = f"/api/v1/namespaces/{namespace_of(number)}/pods/{name_of(number)}"
        request = bench.target.request("PATCH", path, patch, type=_PATCH)
        moment = waiting.expect(namespace_of(number), is_worse=is_worse)
        caller = await free.get()
        answered.append((await caller.ask(request)).at - moment)
        free.put_nowait(caller)

    async with asyncio.TaskGroup() as tasks:
        for at in range(rounds.changes):
            await asyncio.sleep(max(0.0, begin + at / rounds.per_s - perf_counter()))
            turn, number = divmod(at, rounds.namespaces)
            tasks.create_task(send(number, is_worse=turn % 2 == 0))
    return answered


def namespace_of(number: int) -> str:
    return f"team-{number:03d}"


def name_of(number: int) -> str:
    return f"web-{number:06d}"
