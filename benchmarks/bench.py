"""A server under load and the callers of it: sets the scene for a phase and measures it.

A phase states what must be there before (`fill`, `clear`), so that it can be measured again when others disturbed it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from benchmarks import widgets
from benchmarks.connection import Answer, Connection, connect
from benchmarks.load import UnexpectedAnswerError, drive
from benchmarks.measurement import DISTURBED, Measurement, percentile, quietest
from benchmarks.target import Target
from benchmarks.usage import Processes, Usage
from benchmarks.widgets import Requests

_SERVED_WITHIN_S = 30.0
_PAGE = 1000
_CALM_LOOKS, _CALM_LOOK_S = 6, 0.5


class Scale(msgspec.Struct, frozen=True):
    objects: int = 5000
    callers: int = 50
    lists: int = 7
    watch_writes: int = 40
    watch_gap_s: float = 0.25
    burst_writes: int = 200
    tries: int = 3
    """How often a phase that others disturbed is measured; the quietest counts."""


QUICK = Scale(objects=1000, lists=3, watch_writes=10, watch_gap_s=0.1, burst_writes=50, tries=1)


class Reading(NamedTuple):
    objects: int
    ended: float
    """When the last byte was here."""


class Bench:
    """Made by `open_bench`."""

    def __init__(self, target: Target, processes: Processes, scale: Scale, callers: list[Connection]) -> None:
        self.target = target
        self.processes = processes
        self.scale = scale
        self.callers = callers
        self.requests = Requests(target)
        self.present = 0
        # A write that changes nothing is none: no round may repeat what an earlier one wrote.
        self._salts = count(int(time.time()) % 1_000_000, 100_000)

    @property
    def caller(self) -> Connection:
        return self.callers[0]

    def salt(self) -> int:
        return next(self._salts)

    async def ask(self, method: str, path: str, body: object = None, *, expect: Iterable[int] = (200,)) -> Answer:
        sent = b"" if body is None else msgspec.json.encode(body)
        if not self.caller.is_open:  # A server closes a connection that was idle for long.
            self.callers[0] = await connect(self.target, self.target.context())
        answer = await self.caller.ask(self.target.request(method, path, sent))
        if answer.status not in expect:
            raise UnexpectedAnswerError(
                f"{method} {path}: {answer.status} {answer.body[:300].decode(errors='replace')}"
            )
        return answer

    async def define(self) -> float:
        """Make the namespace and the kind; the seconds until the kind is served."""
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": widgets.NAMESPACE}}
        await self.ask("POST", widgets.NAMESPACES, namespace, expect=(201, 409))
        began = time.perf_counter()
        await self.ask("POST", widgets.DEFINITIONS, widgets.DEFINITION, expect=(201, 409))
        while (await self.ask("GET", f"{widgets.COLLECTION}?limit=1", expect=(200, 404))).status != 200:
            if time.perf_counter() - began > _SERVED_WITHIN_S:
                raise UnexpectedAnswerError(f"the kind is not served after {_SERVED_WITHIN_S:g} s")
            await asyncio.sleep(0.005)
        return time.perf_counter() - began

    async def fill(self, objects: int = 0) -> None:
        """Have this many objects (by default: those of the scale), from the first on."""
        wanted = objects or self.scale.objects
        if self.present < wanted:
            missing = range(self.present, wanted)
            await drive(self.callers, map(self.requests.create, missing), expect=201)
            self.present = wanted

    async def clear(self) -> None:
        if self.present:
            await drive(self.callers, map(self.requests.delete, range(self.present)), expect=200)
            self.present = 0

    async def objects(self) -> tuple[list[dict[str, Any]], str]:
        """All there is, and its revision."""
        found: list[dict[str, Any]] = []
        token = ""
        while True:
            rest = f"&continue={quote(token)}" if token else ""
            answer = await self.ask("GET", f"{widgets.COLLECTION}?limit={_PAGE}{rest}")
            page = msgspec.json.decode(answer.body)
            found += page["items"]
            token = page["metadata"].get("continue", "")
            if not token:
                return found, page["metadata"]["resourceVersion"]

    async def load(self, phase: str, requests: Iterable[bytes], *, expect: int, callers: int = 0) -> Measurement:
        """Measure the requests, made beforehand, sent by all callers or so many of them."""
        made = list(requests)
        before = self.processes.usage()
        taken = await drive(self.callers[: callers or None], made, expect=expect)
        return self.measurement(phase, taken, self.processes.usage() - before)

    async def repeat(self, phase: str, read: Callable[[], Awaitable[Reading]]) -> Measurement:
        """Measure one caller that reads the same over and over."""
        taken: list[float] = []
        objects = 0
        before = self.processes.usage()
        for _ in range(self.scale.lists):
            began = time.perf_counter()
            objects, ended = await read()
            taken.append(ended - began)
        return self.measurement(phase, taken, self.processes.usage() - before, objects=objects)

    def measurement(self, phase: str, taken: Iterable[float], used: Usage, *, objects: int = 0) -> Measurement:
        ordered = sorted(taken)
        number = len(ordered)
        return Measurement(
            phase=phase,
            count=number,
            seconds=used.at,
            p50_ms=percentile(ordered, 0.5) * 1e3,
            p99_ms=percentile(ordered, 0.99) * 1e3,
            cpu_ms=used.server / number * 1e3,
            own_ms=used.own / number * 1e3,
            other=used.other,
            rss_mib=self.processes.rss_mib(),
            objects=objects,
        )

    async def quietly(self, phase: Callable[[Bench], Awaitable[Measurement]]) -> Measurement:
        """Measure a phase, again while others disturb it."""
        found: list[Measurement] = []
        for _ in range(self.scale.tries):
            if found:
                await self._calm()
            found.append(await phase(self))
            if not found[-1].is_disturbed:
                break
        return quietest(found)

    async def _calm(self) -> None:
        """Wait until others leave the machine alone, for a while."""
        for _ in range(_CALM_LOOKS):
            before = self.processes.usage()
            await asyncio.sleep(_CALM_LOOK_S)
            if (self.processes.usage() - before).other <= DISTURBED:
                return


@asynccontextmanager
async def open_bench(target: Target, processes: Processes, scale: Scale) -> AsyncIterator[Bench]:
    context = target.context()
    callers = [await connect(target, context) for _ in range(scale.callers)]
    try:
        yield Bench(target, processes, scale, callers)
    finally:
        for caller in callers:
            caller.close()
