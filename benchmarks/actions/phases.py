"""What is measured of the actions operator: how soon many resources are ready, and how steadily they are kept.

A reconciliation counts when the plugin is asked. How late it is, is the time since the plugin was asked about the same
resource before, less the interval.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import msgspec

from benchmarks.actions.plugin import PLANNED, Note, read_notes
from benchmarks.bench import Bench
from benchmarks.load import drive
from benchmarks.measurement import percentile
from benchmarks.served import Served
from benchmarks.usage import cpu_seconds, main_thread_seconds, rss_mib
from homeostat.client.base import Client
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import RECONCILIATION, REQUESTED, ResourceTypeSpec
from homeostat.operators.actions.types.naming import resource_kind

KIND = resource_kind(ResourceTypeSpec(name="Machine"))
_WITHIN_S = 600.0
_POLL_EVERY_S = 0.01
_COUNT_EVERY_S = 0.25


class Scale(msgspec.Struct, frozen=True):
    resources: int = 10_000
    a_second: int = 500
    """How many become due."""
    seconds: float = 60.0
    keep: int = 3
    changes: int = 20
    """Made one after another while all others wait for their turn."""

    @property
    def interval_s(self) -> int:
        return self.resources // self.a_second


class Burst(msgspec.Struct, frozen=True):
    """All resources want a turn at once."""

    seconds: float
    cpu_ms: float
    """Of the plane with the operator in it, for each."""
    change_s: list[float]
    """How long changes took that came meanwhile, from the plane's answer to the status that shows it."""


class Steady(msgspec.Struct, frozen=True):
    """A while at the rate that is wanted. What is said of one reconciliation is the mean."""

    rate: float
    late_p50_s: float
    late_p99_s: float
    oldest_s: float
    """How long the resource that waited longest had been due."""
    drifted: int
    cpu_ms: float
    loop_ms: float
    """Of it the main thread's; the rest is the store's."""
    writes: float
    grown_bytes: float
    rss_mib: tuple[float, float]
    entries: int
    other: float
    """What share of one core everybody else used meanwhile."""


@dataclass(frozen=True, slots=True)
class Scene:
    served: Served
    bench: Bench
    client: Client
    notes: Path
    scale: Scale


async def become_ready(scene: Scene) -> Burst:
    """From the first resource made until all are ready. The changes come once the last is made."""
    target, scale = scene.bench.target, scene.scale
    bodies = (
        target.request("POST", KIND.path("default"), msgspec.json.encode(_resource(number)))
        for number in range(scale.resources)
    )
    began, cpu = monotonic(), cpu_seconds(scene.served.pid)
    await drive(scene.bench.callers, bodies, expect=201)
    changes = await _change_some(scene)
    await _asked_about(scene, since=0)
    seconds = monotonic() - began
    return Burst(seconds, (cpu_seconds(scene.served.pid) - cpu) / scale.resources * 1e3, changes)


async def catch_up(scene: Scene) -> Burst:
    """From the start of a plane whose resources are all overdue until each had its turn."""
    began, since = monotonic(), len(read_notes(scene.notes))
    changes = await _change_some(scene)
    await _asked_about(scene, since=since)
    used_ms = cpu_seconds(scene.served.pid) / scene.scale.resources * 1e3
    return Burst(monotonic() - began + scene.served.start_s, used_ms, changes)


async def keep_pace(scene: Scene) -> Steady:
    scale, served, pid = scene.scale, scene.served, scene.served.pid
    before, loop_s, revision = served.processes.usage(), main_thread_seconds(pid), await _revision(scene)
    rss, size, since = rss_mib(pid), _size(served.data), len(read_notes(scene.notes))
    await asyncio.sleep(scale.seconds)
    used, ended = served.processes.usage() - before, monotonic()
    notes = read_notes(scene.notes)
    count = sum(each.kind == PLANNED for each in notes[since:])
    late, oldest_s = _lateness(notes, since, scale.interval_s, ended)
    return Steady(
        rate=count / used.at,
        late_p50_s=percentile(late, 0.5),
        late_p99_s=percentile(late, 0.99),
        oldest_s=oldest_s,
        drifted=sum(each.kind != PLANNED for each in notes[since:]),
        cpu_ms=used.server / count * 1e3,
        loop_ms=(main_thread_seconds(pid) - loop_s) / count * 1e3,
        writes=(await _revision(scene) - revision) / count,
        grown_bytes=(_size(served.data) - size) / count,
        rss_mib=(rss, rss_mib(pid)),
        entries=await _entries(scene),
        other=used.other,
    )


def _lateness(notes: list[Note], since: int, interval_s: float, ended: float) -> tuple[list[float], float]:
    """Of each note from `since` on, in order; and of the resource that had to wait longest, even if it still does."""
    last: dict[int, float] = {}
    late: list[float] = []
    for at, note in enumerate(notes):
        if note.kind == PLANNED:
            if at >= since and note.number in last:
                late.append(max(0.0, note.at - last[note.number] - interval_s))
            last[note.number] = note.at
    late.sort()
    still = max((ended - moment - interval_s for moment in last.values()), default=0.0)
    return late, max(0.0, still, *late[-1:])


async def _change_some(scene: Scene) -> list[float]:
    taken = []
    for number in range(scene.scale.changes):
        path, asked = KIND.path("default", _name(number)), f"{monotonic()}"
        await scene.client.merge(path, {"metadata": {"annotations": {REQUESTED: asked}}})
        began = monotonic()
        while True:
            status = (await scene.client.get(path)).get("status") or {}
            if status.get("handledRequest") == asked:
                break
            if monotonic() - began > _WITHIN_S:
                raise TimeoutError(f"{path} was changed and nobody cared for {_WITHIN_S:g} s")
            await asyncio.sleep(_POLL_EVERY_S)
        taken.append(monotonic() - began)
    return taken


async def _asked_about(scene: Scene, *, since: int) -> None:
    """Until the plugin was asked about every resource, and the status of each shows it."""
    deadline, missing = monotonic() + _WITHIN_S, set(range(scene.scale.resources))
    while monotonic() < deadline:
        notes = read_notes(scene.notes, after=since)
        since += len(notes)
        missing.difference_update(each.number for each in notes)
        if not missing and await _all_are_reconciled(scene):
            return
        await asyncio.sleep(_COUNT_EVERY_S)
    raise TimeoutError(f"after {_WITHIN_S:g} s nobody asked about {len(missing)} resources")


async def _all_are_reconciled(scene: Scene) -> bool:
    """Not whether all are ready: at any time drift is being corrected somewhere."""
    answer = await scene.bench.ask("GET", KIND.path("default"))
    found = msgspec.json.decode(answer.body, type=_Page).items
    return all(each.status.reconciled_generation for each in found)


class _Status(msgspec.Struct, rename="camel"):
    reconciled_generation: int = 0


class _Reconciled(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


class _Page(msgspec.Struct):
    items: list[_Reconciled]


async def _revision(scene: Scene) -> int:
    return int((await _page(scene, KIND.path("default")))["metadata"]["resourceVersion"])


async def _entries(scene: Scene) -> int:
    page = await _page(scene, RECONCILIATION.kind.path("default"))
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))


async def _page(scene: Scene, path: str) -> JsonObject:
    page: JsonObject = msgspec.json.decode((await scene.bench.ask("GET", f"{path}?limit=1")).body)
    return page


def _size(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


def _name(number: int) -> str:
    return f"machine-{number:05d}"


def _resource(number: int) -> JsonObject:
    return {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {"name": _name(number)},
        "spec": {"number": number, "size": "small"},
    }
