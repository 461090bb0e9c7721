"""The policy operator at work: a plane full of Pods, a policy in every namespace, and Pods that change.

The operator is a process of its own beside the plane, so that its CPU and memory are measured alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter

import msgspec

from benchmarks.bench import Bench
from benchmarks.load import drive
from benchmarks.measurement import DISTURBED
from benchmarks.policy.changes import Rounds, measure_rounds, name_of, namespace_of
from benchmarks.runtime.changes import Changes
from benchmarks.runtime.sides import run_operator
from benchmarks.runtime.stage import open_stage, wait_for_metrics
from benchmarks.usage import cpu_seconds, rss_mib
from homeostat.client.base import Client
from homeostat.objects.json import JsonObject
from homeostat.operators.policy.api import DEVOPS_POLICY, KINDS

_WITHIN_S = 300.0
_CHECK_EVERY_S = 0.1
_SETTLE_S = 3.0
_SPEC: JsonObject = {
    "forbidLatestTag": True,
    "requireLivenessProbe": True,
    "requireReadinessProbe": True,
    "maxRestartCount": 3,
}
_KIND = DEVOPS_POLICY.kind
_POLICY: JsonObject = {"apiVersion": _KIND.api_version, "kind": _KIND.kind, "spec": _SPEC}


class Scale(msgspec.Struct, frozen=True):
    pods: int = 100_000
    namespaces: int = 200
    changes: int = 1200
    """An even number of rounds through the namespaces, so that the next try begins where the first did."""
    changes_per_s: int = 100
    tries: int = 4
    """How often the changes are measured while others disturb; the quietest counts."""


class Figures(msgspec.Struct, frozen=True):
    create_s: float
    sync_s: float
    evaluate_cpu_s: float
    evaluate_s: float
    changes: Changes
    idle_mib: float
    full_mib: float


async def measure_live(scale: Scale, report: Callable[[str], None]) -> Figures:
    async with open_stage(KINDS) as (client, bench, kubeconfig):
        # Without an object of its kinds the operator is not set up.
        await client.create(_KIND.path("default"), {**_POLICY, "metadata": {"name": "first"}})
        with run_operator("policy", kubeconfig) as (pid, port):
            await _tracked(port, 0)
            idle_mib = rss_mib(pid)
        create_s = await _create(bench, scale)
        report(f"{scale.pods:,} Pods created in {create_s:.0f} s")
        with run_operator("policy", kubeconfig) as (pid, port):
            sync_s = await _tracked(port, scale.pods)
            cpu_s, seconds = await _evaluate(bench, client, pid, scale)
            report(f"{scale.namespaces} policies reported after {seconds:.1f} s")
            changes = await _quietest(bench, client, pid, scale)
            return Figures(create_s, sync_s, cpu_s, seconds, changes, idle_mib, rss_mib(pid))


async def _quietest(bench: Bench, client: Client, pid: int, scale: Scale) -> Changes:
    found: list[Changes] = []
    for _ in range(scale.tries):
        await asyncio.sleep(_SETTLE_S)
        found.append(
            await measure_rounds(bench, client, pid, Rounds(scale.namespaces, scale.changes, scale.changes_per_s))
        )
        if found[-1].other <= DISTURBED:
            break
    return min(found, key=lambda each: each.other)


async def _tracked(port: int, pods: int) -> float:
    """Seconds until the operator has seen so many Pods."""
    line = f"\npods_tracked_total {float(pods)}"
    return await wait_for_metrics(port, lambda text: line in text, every_s=_CHECK_EVERY_S, within_s=_WITHIN_S)


async def _create(bench: Bench, scale: Scale) -> float:
    post = bench.target.request
    for number in range(scale.namespaces):
        await bench.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace_of(number)}}, expect=(201,))
    bodies = (
        post("POST", f"/api/v1/namespaces/{namespace_of(at % scale.namespaces)}/pods", msgspec.json.encode(_pod(at)))
        for at in range(scale.pods)
    )
    began = perf_counter()
    await drive(bench.callers, bodies, expect=201)
    return perf_counter() - began


async def _evaluate(bench: Bench, client: Client, pid: int, scale: Scale) -> tuple[float, float]:
    """CPU of the operator and time, from the first policy declared until every status is reported."""
    encoded = msgspec.json.encode({**_POLICY, "metadata": {"name": "main"}})
    requests = [bench.target.request("POST", _KIND.path(namespace_of(at)), encoded) for at in range(scale.namespaces)]
    began, cpu = perf_counter(), cpu_seconds(pid)
    await drive(bench.callers, requests, expect=201)
    while True:
        found, _ = await client.list(_KIND.path(""), fieldSelector="metadata.name=main")
        if sum("healthScore" in (each.get("status") or {}) for each in found) == scale.namespaces:
            return cpu_seconds(pid) - cpu, perf_counter() - began
        await asyncio.sleep(_CHECK_EVERY_S)


def _pod(number: int) -> JsonObject:
    workload = number // 5
    probe = {"httpGet": {"path": "/healthz", "port": 8080}}
    containers = [
        {
            "name": name,
            "image": f"registry.example.com/team/{name}-{workload}:1.{workload % 5}",
            **({"livenessProbe": probe} if workload % 3 else {}),
            "ports": [{"containerPort": 8080}],
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        }
        for name in ("main", "sidecar")
    ]
    metadata = {"name": name_of(number), "labels": {"app": f"web-{workload}", "pod-template-hash": "5d4f8b9c7f"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}
