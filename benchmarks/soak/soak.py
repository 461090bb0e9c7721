"""Runs a soak and judges it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from statistics import median

import msgspec

from benchmarks.measurement import percentile
from benchmarks.served import Served, compiled_environment, scratch, serve
from benchmarks.soak.attacks import ATTACKS, Attack, Order, prepare
from benchmarks.soak.honest import Watcher, Writer, lost_writes
from benchmarks.soak.probe import Probe, Sample
from benchmarks.soak.turns import NOTED_S, Turn, read_turns
from homeostat.client.base import Client
from homeostat.client.endpoint.endpoint import Endpoint
from homeostat.client.http.transport import open_transport

_ATTACK_S = 20.0


class Bounds(msgspec.Struct, frozen=True):
    p99_ms: float = 100.0
    """How much longer the p99 of `/readyz` may be than that of an idle plane beside it, which waits for the machine."""
    growth_mib: float = 24.0
    """How much more memory the last quarter of the rounds may use than the quarter before it."""
    rounds: int = 3
    """With fewer rounds of all attacks, memory is not judged: history, caches and the room for crowds grow in the first
    one."""
    turn_ms: float = 100.0
    """CPU time of one turn of the plane's event loop, in which nobody else is served, without what the host stole."""


class Scale(msgspec.Struct, frozen=True):
    seconds: float
    writers: int = 4
    large: int = 10
    names: tuple[str, ...] = tuple(ATTACKS)


class Result(msgspec.Struct):
    attacks: list[Attack]
    samples: list[Sample]
    idle: list[Sample]
    """Of a plane beside it that nobody uses."""
    memory: list[tuple[float, float]]
    failures: int
    acknowledged: int
    refused: int
    lost: int
    gaps: int
    faults: list[str]
    turns: list[Turn] = []
    """Long turns of the plane's event loop."""
    skipped: list[str] = []
    """Attacks for which there was no time."""
    errors: list[str] = []
    """Errors in the log of the plane."""

    @property
    def p99_ms(self) -> float:
        return percentile(sorted(each.ms for each in self.samples), 0.99)

    @property
    def idle_p99_ms(self) -> float:
        return percentile(sorted(each.ms for each in self.idle), 0.99)

    def memory_of(self, number: int, parts: int) -> float:
        """The median memory in MiB of a part of the run."""
        size = max(1, len(self.memory) // parts)
        part = sorted(mib for _, mib in self.memory[number * size : (number + 1) * size])
        return part[len(part) // 2] if part else 0.0

    @property
    def rounds(self) -> list[float]:
        """The median memory in MiB of each round in which all attacks ran. Parts of the run by time would compare
        different attacks if there are few rounds.
        """
        size = len({each.name for each in self.attacks})
        complete = 0 if self.skipped or not size else len(self.attacks) // size
        spans = [(self.attacks[at].began, self.attacks[at + size - 1].ended) for at in range(0, complete * size, size)]
        return [median([mib for at, mib in self.memory if a <= at <= b] or [0.0]) for a, b in spans]

    @property
    def growth_mib(self) -> float:
        rounds = self.rounds
        size = max(1, len(rounds) // 4)
        return median(rounds[-size:]) - median(rounds[-2 * size : -size])

    def broken(self, bounds: Bounds) -> list[str]:
        """The bounds that do not hold, each as a sentence."""
        found = []
        if (held_ms := self.p99_ms - self.idle_p99_ms) > bounds.p99_ms:
            beside = f"{held_ms:.0f} ms above that of an idle plane"
            found.append(f"/readyz p99 is {self.p99_ms:.0f} ms, {beside}; the bound is {bounds.p99_ms:g} ms")
        if (turn := self.longest_turn()) and turn.own_ms > bounds.turn_ms:
            where = next(iter(turn.where), "an unknown place")
            found.append(
                f"a turn of the event loop took {turn.own_ms:.0f} ms of CPU, at {where}; "
                f"the bound is {bounds.turn_ms:g} ms"
            )
        if len(self.rounds) >= bounds.rounds and self.growth_mib > bounds.growth_mib:
            found.append(f"memory grew by {self.growth_mib:.0f} MiB; the bound is {bounds.growth_mib:g} MiB")
        if failing := sorted({each.name for each in self.attacks if each.outcome == "500"}):
            found.append(f"answered with 500: {', '.join(failing)}")
        if self.skipped:
            found.append(f"never ran: {', '.join(self.skipped)}; give the soak more minutes")
        if self.failures:
            found.append(f"/readyz failed {self.failures} times")
        if self.lost:
            found.append(f"{self.lost} acknowledged writes are lost")
        if self.gaps or self.faults:
            found.append(f"the watch missed {self.gaps} writes; {'; '.join(self.faults[:3]) or 'in order'}")
        return found

    def longest_turn(self, name: str = "") -> Turn | None:
        """Of all turns, or of those while this attack ran, or right after it."""
        spans = [(each.began, each.ended + 0.1) for each in self.attacks if each.name == name or not name]
        turns = [each for each in self.turns if any(a <= each.at <= b for a, b in spans)]
        return max(turns, key=lambda each: each.own_ms, default=None)

    def during(self, name: str) -> list[float]:
        """How long `/readyz` took while this attack ran, or right after it."""
        spans = [(each.began, each.ended + 0.1) for each in self.attacks if each.name == name]
        return [each.ms for each in self.samples if any(a - each.ms / 1000 <= each.at <= b for a, b in spans)]


async def soak(scale: Scale) -> Result:
    with (
        scratch() as data,
        scratch() as unused,
        scratch() as figures,
        serve(data, "--operators", "housekeeping", turns=figures / "turns", log=figures / "log") as served,
        serve(unused, "--operators", "none", log=figures / "idle-log") as idle,
    ):
        await prepare(served.target, large=scale.large)
        async with _client(served) as client:
            await client.create("/api/v1/namespaces", {"metadata": {"name": "honest"}})
            result = await _run(served, idle, client, scale)
            result.turns = read_turns(figures / "turns")
            result.errors = [line for line in (figures / "log").read_text().splitlines() if " ERROR " in line]
            return result


async def _run(served: Served, idle: Served, client: Client, scale: Scale) -> Result:
    _, revision = await client.list("/api/v1/namespaces/honest/configmaps")
    writers = [Writer(client, number) for number in range(scale.writers)]
    watcher = Watcher(client, newest=int(revision))
    with Probe(served.target, served.pid) as probe, Probe(idle.target, idle.pid) as beside:
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(watcher.run())
            writing = [tasks.create_task(each.run()) for each in writers]
            attacks = await _attack(served, scale)
            for task in writing:
                task.cancel()
            gaps = await watcher.catch_up({each for writer in writers for each in writer.revisions})
            watching.cancel()
    return Result(
        attacks=attacks,
        samples=probe.samples,
        idle=beside.samples,
        memory=probe.memory,
        failures=probe.failures,
        acknowledged=sum(each.acknowledged for each in writers),
        refused=sum(each.failed for each in writers),
        lost=await lost_writes(client, writers),
        gaps=gaps,
        faults=watcher.faults,
        skipped=[each for each in scale.names if each not in {attack.name for attack in attacks}],
    )


async def _attack(served: Served, scale: Scale) -> list[Attack]:
    """In a process of its own, so that making the bodies does not disturb the honest clients."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.soak.attacks",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=compiled_environment(),
    )
    order = Order(served.target, list(scale.names), scale.seconds, _ATTACK_S)
    try:
        async with asyncio.timeout(scale.seconds + 2 * _ATTACK_S):
            out, _ = await process.communicate(msgspec.json.encode(order) + b"\n")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise RuntimeError(f"the attacks ended with {process.returncode}; what they say is above")
    return [msgspec.json.decode(line, type=Attack) for line in out.splitlines()]


@asynccontextmanager
async def _client(served: Served) -> AsyncIterator[Client]:
    endpoint = Endpoint(server=served.target.url, token=served.target.token, is_verified=False)
    async with open_transport(endpoint) as transport:
        yield Client(transport)


def rows(result: Result) -> Sequence[tuple[str, str, str, str, str, str]]:
    """For each attack: runs, seconds of the longest, `/readyz` p99 and longest meanwhile, the longest turn of the event
    loop in CPU time, and the last outcome.
    """
    found = []
    for name in dict.fromkeys(each.name for each in result.attacks):
        runs = [each for each in result.attacks if each.name == name]
        waits = sorted(result.during(name)) or [0.0]
        longest = max(each.ended - each.began for each in runs)
        shown = f"{percentile(waits, 0.99):.0f} / {waits[-1]:.0f}"
        turn = result.longest_turn(name)
        held = f"{turn.own_ms:.0f}" if turn else f"under {NOTED_S * 1000:.0f}"
        found.append((name, str(len(runs)), f"{longest:.1f}", shown, held, runs[-1].outcome))
    return found
