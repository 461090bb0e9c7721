"""The contracts operator at work: a plane full of Pactos, each with a Service and a Deployment, and workloads that
change.

The operator is a process of its own beside the plane, so that its CPU and memory are measured alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from time import perf_counter

import msgspec

from benchmarks.bench import Bench
from benchmarks.load import drive
from benchmarks.runtime.changes import Change, Changes, Statuses, measure_changes
from benchmarks.runtime.sides import run_operator
from benchmarks.runtime.stage import open_stage, scrape, wait_for_metrics
from benchmarks.usage import cpu_seconds, rss_mib
from homeostat.client.base import Client
from homeostat.objects.json import Json, JsonObject
from homeostat.operators.contracts.api import KINDS, PACTO

_WITHIN_S = 600.0
_NAMESPACES = 50
_PATCH = "application/merge-patch+json"
_GRACE_S = 31
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
    changes: Changes
    scrape_s: float
    mib: float


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
            changes = list(_changes(bench, scale))
            shown = await measure_changes(bench, client, pid, _STATUSES, changes, per_s=scale.changes_per_s)
            return Figures(
                first_cpu_s=first_cpu_s,
                first_s=first_s,
                again_cpu_s=again_cpu_s,
                again_s=again_s,
                idle_cpu=idle_cpu,
                changes=shown,
                scrape_s=scrape_s,
                mib=rss_mib(pid),
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
            bench.target.request("POST", path.format(_namespace(at)), msgspec.json.encode(body(_name(at))))
            for at in range(scale.pactos)
        )
        await drive(bench.callers, requests, expect=201)


def _changes(bench: Bench, scale: Scale) -> Iterator[Change]:
    body = msgspec.json.encode({"spec": {"template": {"spec": {"terminationGracePeriodSeconds": _GRACE_S}}}})
    for at in range(scale.changes):
        path = f"/apis/apps/v1/namespaces/{_namespace(at)}/deployments/{_name(at)}"
        yield Change(_name(at), _GRACE_S, bench.target.request("PATCH", path, body, type=_PATCH))


def _grace_s(pacto: JsonObject) -> Json:
    return pacto["status"].get("observedRuntime", {}).get("terminationGracePeriodSeconds")


_STATUSES = Statuses(PACTO.kind.path(""), key=lambda pacto: str(pacto["metadata"]["name"]), shown=_grace_s)


def _name(number: int) -> str:
    return f"web-{number:05d}"


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
