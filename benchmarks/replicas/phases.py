"""The load on a set of addresses: creates by crowds of writers, and what watchers see of a steady churn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import count, cycle, islice
from time import perf_counter

import msgspec

from benchmarks.bench import Bench, Scale, open_bench
from benchmarks.connection import Answer, Connection, connect
from benchmarks.measurement import percentile
from benchmarks.target import Target
from benchmarks.usage import Processes
from benchmarks.watchers import Order, Seen, Written
from benchmarks.watches import open_watchers
from benchmarks.widgets import Requests

_CREATED, _CHANGED = 201, 200
_AT_ONCE = 25
_OPEN_WITHIN_S = 120.0
_CALLERS = 30
_MARKED = 300
_indices = count(1_000)


class Load(msgspec.Struct, frozen=True):
    crowds: tuple[int, ...] = (1, 10, 100, 1000)
    phase_s: float = 3.0
    tries: int = 3
    """The best of them counts, for others may use the machine; errors of all do."""
    churn_per_s: int = 500
    churn_s: float = 6.0
    watchers: int = 10
    """At each address."""


QUICK = Load(phase_s=1.5, tries=1, churn_s=2.0)


class Creates(msgspec.Struct, frozen=True):
    writers: int
    rate: float
    p50_ms: float
    p99_ms: float
    errors: int
    error: str = ""
    """What the first of them said."""


class Churn(msgspec.Struct, frozen=True):
    rate: float
    errors: int
    p50_ms: float
    p99_ms: float
    lost: int


class _Crowd:
    """A closed loop of writers until the time is over; an answer that is no success is counted and not the end."""

    def __init__(self, seconds: float) -> None:
        self._ends_at = perf_counter() + seconds
        self.taken: list[float] = []
        self.errors: list[str] = []
        self._busy = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def begin(self, connection: Connection, requests: Requests) -> None:
        began = 0.0

        def send() -> None:
            nonlocal began
            began = perf_counter()
            if began >= self._ends_at:
                self._leave()
                return
            connection.send(requests.create(next(_indices)))

        def answered(answer: Answer) -> None:
            if answer.status == _CREATED:
                self.taken.append(answer.at - began)
            else:
                self.errors.append(f"{answer.status} {answer.body[:200].decode(errors='replace')}")
            send()

        def lost() -> None:
            self.errors.append("the server hung up")
            self._leave()

        self._busy += 1
        connection.answered, connection.lost = answered, lost
        send()

    def _leave(self) -> None:
        self._busy -= 1
        if not self._busy and not self.done.done():
            self.done.set_result(None)


async def best_create(targets: Sequence[Target], writers: int, load: Load) -> Creates:
    found = [await create(targets, writers, load.phase_s) for _ in range(load.tries)]
    best = max(found, key=lambda each: each.rate)
    errors = [each for each in found if each.errors]
    if not errors:
        return best
    return msgspec.structs.replace(best, errors=sum(each.errors for each in errors), error=errors[0].error)


async def create(targets: Sequence[Target], writers: int, seconds: float) -> Creates:
    chosen = list(islice(cycle(targets), writers))
    contexts = {target: target.context() for target in targets}
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(target: Target) -> Connection:
        async with room:
            return await connect(target, contexts[target])

    connections = await asyncio.wait_for(asyncio.gather(*map(one, chosen)), _OPEN_WITHIN_S)
    began = perf_counter()
    crowd = _Crowd(seconds)
    for connection, target in zip(connections, chosen, strict=True):
        crowd.begin(connection, Requests(target))
    await crowd.done
    took = perf_counter() - began
    for connection in connections:
        connection.close()
    ordered = sorted(crowd.taken)
    return Creates(
        writers,
        rate=len(ordered) / took,
        p50_ms=percentile(ordered, 0.5) * 1e3,
        p99_ms=percentile(ordered, 0.99) * 1e3,
        errors=len(crowd.errors),
        error=crowd.errors[0] if crowd.errors else "",
    )


async def churn(targets: Sequence[Target], load: Load) -> Churn:
    async with AsyncExitStack() as stack:
        benches = [
            await stack.enter_async_context(open_bench(target, Processes([]), Scale(callers=_CALLERS)))
            for target in targets
        ]
        await benches[0].fill(_MARKED)
        _, revision = await benches[0].objects()
        run = f"churn-{benches[0].salt()}-"
        orders = [Order(target, load.watchers, revision, run=run) for target in targets]
        crowds = [
            await stack.enter_async_context(open_watchers(bench, order))
            for bench, order in zip(benches, orders, strict=True)
        ]
        began = perf_counter()
        answered, errors = await _paced(benches, run, load)
        took = perf_counter() - began
        seen = await asyncio.gather(*(crowd.ask(Written(answered), Seen) for crowd in crowds))
    wanted = sum(crowd.opened.watchers for crowd in crowds) * len(answered)
    return Churn(
        rate=len(answered) / took,
        errors=errors,
        p50_ms=max(each.p50_ms for each in seen),
        p99_ms=max(each.p99_ms for each in seen),
        lost=wanted - sum(each.delivered for each in seen),
    )


async def _paced(benches: Sequence[Bench], run: str, load: Load) -> tuple[list[float], int]:
    """When each write was answered, and how many were refused; writes come at their times while callers are free."""
    number = int(load.churn_per_s * load.churn_s)
    answered, errors = [0.0] * number, 0
    free: asyncio.Queue[tuple[Bench, Connection]] = asyncio.Queue()
    for callers in zip(*(bench.callers for bench in benches), strict=True):
        for bench, caller in zip(benches, callers, strict=True):
            free.put_nowait((bench, caller))

    async def write(index: int, bench: Bench, caller: Connection) -> None:
        nonlocal errors
        answer = await caller.ask(bench.requests.mark(index % _MARKED, f"{run}{index}"))
        answered[index] = answer.at
        errors += answer.status != _CHANGED
        free.put_nowait((bench, caller))

    began = perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for index in range(number):
            ahead_s = began + index / load.churn_per_s - perf_counter()
            if ahead_s > 0:
                await asyncio.sleep(ahead_s)
            tasks.create_task(write(index, *await free.get()))
    return answered, errors
