"""The policy operator at work: a plane full of Pods, a policy in every namespace, and Pods that change.

The operator is a process of its own beside the plane, so that its CPU and memory can be told apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter

import msgspec

from benchmarks.bench import Bench, open_bench
from benchmarks.bench import Scale as Callers
from benchmarks.load import drive
from benchmarks.measurement import DISTURBED
from benchmarks.policy.changes import Changes, Rounds, measure_changes, name_of, namespace_of
from benchmarks.runtime.sides import run_operator
from benchmarks.served import scratch, serve
from benchmarks.usage import Processes, cpu_seconds, rss_mib
from homeostat.client.base import Client
from homeostat.client.connect import open_client
from homeostat.client.endpoint.kubeconfig import load_endpoint
from homeostat.objects.json import JsonObject
from homeostat.operators.policy.api import DEVOPS_POLICY, KINDS
from homeostat.runtime.installation import install

_WITHIN_S = 300.0
_LOOK_EVERY_S = 0.1
_SETTLE_S = 3.0
_SPEC: JsonObject = {
    "forbidLatestTag": True,
    "requireLivenessProbe": True,
    "requireReadinessProbe": True,
    "maxRestartCount": 3,
}


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


async def measure_live(scale: Scale, tell: Callable[[str], None]) -> Figures:
    with scratch() as data, serve(data, "--operators", "housekeeping") as served:
        kubeconfig = data / "kubeconfig"
        async with (
            open_client(load_endpoint([kubeconfig])) as client,
            open_bench(served.target, Processes([served.pid]), Callers()) as bench,
        ):
            await install(client, KINDS)
            with run_operator("policy", kubeconfig) as (pid, port):
                await _tracked(port, 0)
                idle_mib = rss_mib(pid)
            create_s = await _create(bench, scale)
            tell(f"{scale.pods:,} Pods made in {create_s:.0f} s")
            with run_operator("policy", kubeconfig) as (pid, port):
                began = perf_counter()
                await _tracked(port, scale.pods)
                sync_s = perf_counter() - began
                cpu_s, seconds = await _evaluate(bench, client, pid, scale)
                tell(f"{scale.namespaces} policies told after {seconds:.1f} s")
                changes = await _quietest(bench, client, pid, scale)
                return Figures(create_s, sync_s, cpu_s, seconds, changes, idle_mib, rss_mib(pid))


async def _quietest(bench: Bench, client: Client, pid: int, scale: Scale) -> Changes:
    found: list[Changes] = []
    for _ in range(scale.tries):
        await asyncio.sleep(_SETTLE_S)
        found.append(
            await measure_changes(bench, client, pid, Rounds(scale.namespaces, scale.changes, scale.changes_per_s))
        )
        if found[-1].other <= DISTURBED:
            break
    return min(found, key=lambda each: each.other)


async def _tracked(port: int, pods: int) -> None:
    """Until the operator has seen so many Pods."""
    deadline = perf_counter() + _WITHIN_S
    while perf_counter() < deadline:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(_LOOK_EVERY_S)
            continue
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        told = (await reader.read()).decode()
        writer.close()
        if f"\npods_tracked_total {float(pods)}" in told:
            return
        await asyncio.sleep(_LOOK_EVERY_S)
    raise TimeoutError(f"the operator has not seen {pods} Pods after {_WITHIN_S:g} s")


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
    """CPU of the operator and time, from the first policy declared until every status is told."""
    kind = DEVOPS_POLICY.kind
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "main"}, "spec": _SPEC}
    encoded = msgspec.json.encode(body)
    requests = [bench.target.request("POST", kind.path(namespace_of(at)), encoded) for at in range(scale.namespaces)]
    began, cpu = perf_counter(), cpu_seconds(pid)
    await drive(bench.callers, requests, expect=201)
    while True:
        found, _ = await client.list(kind.path(""))
        if sum("healthScore" in (each.get("status") or {}) for each in found) == scale.namespaces:
            return cpu_seconds(pid) - cpu, perf_counter() - began
        await asyncio.sleep(_LOOK_EVERY_S)


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
