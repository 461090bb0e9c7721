"""The actions operator at work in the plane's own process: resources made, kept for a while, and overdue all at once.

Nothing is watched from outside meanwhile: what happens when is in the plugin's notes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

import msgspec

from benchmarks.actions.phases import KIND, Burst, Scale, Scene, Steady, become_ready, catch_up, keep_pace
from benchmarks.actions.plugin import NAME, installed
from benchmarks.bench import Scale as Callers
from benchmarks.bench import open_bench
from benchmarks.served import scratch, serve
from homeostat.client.base import Client
from homeostat.client.connect import open_client
from homeostat.client.endpoint.kubeconfig import load_endpoint
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import RESOURCE_TYPE, Keep
from homeostat.operators.actions.runs.sweep import sweep_history

_SERVED_WITHIN_S = 30.0
_POLL_EVERY_S = 0.1


class Figures(msgspec.Struct, frozen=True):
    first: Burst
    steady: Steady
    overdue: Burst
    swept: int
    sweep_s: float


async def measure_actions(scale: Scale, report: Callable[[str], None]) -> Figures:
    with scratch() as data, scratch() as folder, installed(folder / "site", folder / "notes"):
        notes = folder / "notes"
        async with _scene(data, notes, scale) as scene:
            await _declare(scene.client, scale)
            first = await become_ready(scene)
            report(f"{scale.resources:,} resources created; all were ready after {first.seconds:.1f} s")
            await asyncio.sleep(scale.keep * scale.interval_s)
            steady = await keep_pace(scene)
            report(f"{steady.rate:.0f} reconciliations a second with {steady.cpu_ms:.2f} ms of CPU each")
        await asyncio.sleep(scale.interval_s)
        async with _scene(data, notes, scale) as scene:
            overdue = await catch_up(scene)
            report(f"{scale.resources:,} that were overdue had their turn after {overdue.seconds:.1f} s")
            began = monotonic()
            swept = await sweep_history(scene.client, lambda _: Keep(entries=1), now=datetime.now(UTC))
            return Figures(first, steady, overdue, swept, monotonic() - began)


@asynccontextmanager
async def _scene(data: Path, notes: Path, scale: Scale) -> AsyncIterator[Scene]:
    with serve(data, "--operators", "housekeeping,homeostat.operators.actions") as served:
        async with (
            open_client(load_endpoint([data / "kubeconfig"])) as client,
            open_bench(served.target, served.processes, Callers()) as bench,
        ):
            yield Scene(served, bench, client, notes, scale)


async def _declare(client: Client, scale: Scale) -> None:
    kind = RESOURCE_TYPE.kind
    schema = {"type": "object", "properties": {"number": {"type": "integer"}, "size": {"type": "string"}}}
    body: JsonObject = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": "machine"},
        "spec": {
            "name": KIND.kind,
            "schema": schema,
            "action": {"plugin": NAME},
            "intervalSeconds": scale.interval_s,
            "history": {"entries": scale.keep},
        },
    }
    await client.create(kind.path(""), body)
    deadline = monotonic() + _SERVED_WITHIN_S
    while monotonic() < deadline:
        conditions = ((await client.get(kind.path("", "machine"))).get("status") or {}).get("conditions", [])
        if any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
            return
        await asyncio.sleep(_POLL_EVERY_S)
    raise TimeoutError(f"the type is not served after {_SERVED_WITHIN_S:g} s")
