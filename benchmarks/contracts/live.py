"""The contracts operator at work: a plane full of Pactos, each with a Service and a Deployment, and workloads that
change.

The operator is a process of its own beside the plane, so that its CPU and memory are measured alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter

import msgspec

from benchmarks.bench import Bench
from benchmarks.load import drive
from benchmarks.measurement import percentile
from benchmarks.runtime.sides import run_operator
from benchmarks.runtime.stage import open_stage, scrape, wait_for_metrics
from benchmarks.usage import Processes, cpu_seconds, rss_mib
from homeostat.client.base import Client
from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.api import KINDS, PACTO

_WITHIN_S = 600.0
_NAMESPACES = 50
_PATCH = "application/merge-patch+json"
_CONTRACT = """pactoVersion: "1.2"
service:
  {{name: {name}, version: 1.4.0, owner: {{team: finance/core}}, image: {{ref: registry.example.org/fin/{name}:1.4.0}}}}
interfaces: [{{name: web, type: http, port: 8080, visibility: internal}}]
dependencies:
  - {{name: rates, ref: "oci://registry.example.org/contracts/rates", required: true, compatibility: "^3.1.0"}}
runtime:
  workload: service
  state: {{type: stateless, persistence: {{scope: local, durability: ephemeral}}, dataCriticality: high}}
  lifecycle: {{upgradeStrategy: rolling, gracefulShutdownSeconds: 30}}
scaling: {{min: 2, max: 6}}
metadata: {{tier: gold}}
"""


class Scale(msgspec.Struct, frozen=True):
    pactos: int = 10_000
    changes: int = 1000
    changes_per_s: int = 50
    idle_s: float = 60.0


class Figures(msgspec.Struct, frozen=True):
    first_cpu_s: float
    """Of the operator, from its start until every Pacto has a status and a revision."""
    first_s: float
    again_cpu_s: float
    """The same after a restart, when everything is reported already."""
    again_s: float
    idle_cpu: float
    """The share of a core."""
    p50_ms: float
    p99_ms: float
    change_cpu_ms: float
    scrape_s: float
    mib: float
    other: float
    """What share of one core everybody else used during the changes."""


async def measure_live(scale: Scale, report: Callable[[str], None]) -> Figures:
    async with open_stage(KINDS) as (client, bench, kubeconfig):
        await _create(bench, scale)
        report(f"{scale.pactos:,} Pactos created")
        with run_operator("contracts", kubeconfig) as (pid, port):
            first_s = await _evaluated(port, scale.pactos)
            await _reported(client, scale.pactos)
            first_cpu_s = cpu_seconds(pid)
        report(f"first pass: {first_cpu_s:.1f} s of CPU")
        with run_operator("contracts", kubeconfig) as (pid, port):
            again_s = await _evaluated(port, scale.pactos)
            again_cpu_s = cpu_seconds(pid)
            report(f"another pass: {again_cpu_s:.1f} s of CPU")
            await asyncio.sleep(3)
            before = cpu_seconds(pid)
            await asyncio.sleep(scale.idle_s)
            idle_cpu = (cpu_seconds(pid) - before) / scale.idle_s
            began = perf_counter()
            await scrape(port)
            scrape_s = perf_counter() - began
            processes, cpu = Processes([*bench.processes.server, pid]), cpu_seconds(pid)
            usage = processes.usage()
            taken = sorted(await _change(bench, client, scale))
            return Figures(
                first_cpu_s=first_cpu_s,
                first_s=first_s,
                again_cpu_s=again_cpu_s,
                again_s=again_s,
                idle_cpu=idle_cpu,
                p50_ms=percentile(taken, 0.5) * 1e3,
                p99_ms=percentile(taken, 0.99) * 1e3,
                change_cpu_ms=(cpu_seconds(pid) - cpu) / len(taken) * 1e3,
                scrape_s=scrape_s,
                mib=rss_mib(pid),
                other=(processes.usage() - usage).other,
            )


async def _evaluated(port: int, pactos: int) -> float:
    """Seconds until the operator has evaluated so many Pactos. A scrape of all series is not free: few are made."""
    series = 'homeostat_reconciles_total{controller="contracts",outcome="settled"} '

    def is_reached(text: str) -> bool:
        return any(float(each.rpartition(" ")[2]) >= pactos for each in text.splitlines() if each.startswith(series))

    return await wait_for_metrics(port, is_reached, every_s=5.0, within_s=_WITHIN_S)


async def _reported(client: Client, pactos: int) -> None:
    found, _ = await client.list(PACTO.kind.path(""))
    missing = [each["metadata"]["name"] for each in found if (each.get("status") or {}).get("contractStatus") is None]
    if len(found) != pactos or missing:
        raise AssertionError(f"{len(missing)} of {len(found)} Pactos have no status: {missing[:3]}")


async def _create(bench: Bench, scale: Scale) -> None:
    for number in range(_NAMESPACES):
        await bench.ask("POST", "/api/v1/namespaces", {"metadata": {"name": _namespace(number)}}, expect=(201,))
    for path, body in (
        ("/api/v1/namespaces/{}/services", _service),
        ("/apis/apps/v1/namespaces/{}/deployments", _deployment),
        ("/apis/pacto.trianalab.io/v1alpha1/namespaces/{}/pactos", _pacto),
    ):
        requests = (
            bench.target.request("POST", path.format(_namespace(at)), msgspec.json.encode(body(f"web-{at:05d}")))
            for at in range(scale.pactos)
        )
        await drive(bench.callers, requests, expect=201)


async def _change(bench: Bench, client: Client, scale: Scale) -> list[float]:
    """Seconds from each change of a Deployment until the status of its Pacto shows it."""
    taken: list[float] = []
    awaited: dict[str, float] = {}
    all_seen = asyncio.Event()
    _, revision = await client.list(PACTO.kind.path(""), limit=1)

    async def follow() -> None:
        async for event in client.watch(PACTO.kind.path(""), resourceVersion=revision):
            name = event.obj["metadata"]["name"]
            shown = event.obj["status"].get("observedRuntime", {}).get("terminationGracePeriodSeconds")
            if name in awaited and shown == 31:
                taken.append(perf_counter() - awaited.pop(name))
                if len(taken) == scale.changes:
                    all_seen.set()

    following = asyncio.create_task(follow())
    begin = perf_counter()
    body = msgspec.json.encode({"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 31}}}})
    for at in range(scale.changes):
        await asyncio.sleep(max(0.0, begin + at / scale.changes_per_s - perf_counter()))
        name = f"web-{at:05d}"
        path = f"/apis/apps/v1/namespaces/{_namespace(at)}/deployments/{name}"
        awaited[name] = perf_counter()
        await bench.callers[at % len(bench.callers)].ask(bench.target.request("PATCH", path, body, type=_PATCH))
    try:
        await asyncio.wait_for(all_seen.wait(), 30)
    finally:
        following.cancel()
    return taken


def _namespace(number: int) -> str:
    return f"team-{number % _NAMESPACES:03d}"


def _service(name: str) -> JsonObject:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 8080}], "selector": {"app": name}}}


def _deployment(name: str) -> JsonObject:
    containers = [{"name": "main", "image": f"registry.example.org/fin/{name}:1.4.0"}]
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers}}
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": name}}, "template": template}}


def _pacto(name: str) -> JsonObject:
    spec = {"contractRef": {"inline": _CONTRACT.format(name=name)}, "target": {"serviceName": name}}
    return {"apiVersion": PACTO.kind.api_version, "kind": "Pacto", "metadata": {"name": name}, "spec": spec}
