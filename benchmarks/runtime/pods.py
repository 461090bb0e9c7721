"""Many Pods in the cache of an operator: what they add to its memory, and how soon it has them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import msgspec

from benchmarks.bench import Bench, Scale, open_bench
from benchmarks.load import drive
from benchmarks.runtime.pod_cache import Held
from benchmarks.runtime.sides import Server, Side, operate
from benchmarks.target import Target
from benchmarks.usage import Processes

_NAMESPACES = 20
_PODS_OF_AN_OWNER = 20
_SYNCED_WITHIN_S = 120.0


class Owner(NamedTuple):
    namespace: str
    name: str
    uid: str


class Pods(NamedTuple):
    held: Held
    create_s: float


async def measure_pods(server: Server, pods: int) -> Pods:
    """The Pods are created through the server's API, one by one."""
    async with open_bench(server.target, Processes(server.pids), Scale()) as bench:
        count = pods // _NAMESPACES // _PODS_OF_AN_OWNER
        owners: list[Owner] = []
        for number in range(_NAMESPACES):
            owners += await _make_owners(bench, f"team-{number:02d}", count)
        began = perf_counter()
        await drive(bench.callers, _creates(server.target, owners, pods), expect=201)
        create_s = perf_counter() - began
    report = server.kubeconfig.parent / "pods.json"
    with operate(Side("pods", lambda kubeconfig: _command(kubeconfig, report)), server.kubeconfig):
        return Pods(await _synced(report), create_s)


def _command(kubeconfig: Path, report: Path) -> list[str]:
    return ["-m", "benchmarks.runtime.pod_cache", str(kubeconfig), str(report)]


async def _synced(report: Path) -> Held:
    deadline = perf_counter() + _SYNCED_WITHIN_S
    while (held := _read(report)) is None:
        if perf_counter() > deadline:
            raise TimeoutError(f"the cache is not in sync after {_SYNCED_WITHIN_S:g} s")
        await asyncio.sleep(0.2)
    return held


def _read(report: Path) -> Held | None:
    return msgspec.json.decode(report.read_bytes(), type=Held) if report.exists() else None


async def _make_owners(bench: Bench, namespace: str, count: int) -> list[Owner]:
    """The ReplicaSets that the Pods are said to be of must exist: what has lost its owner is collected."""
    await bench.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}}, expect=(201,))
    owners = []
    for number in range(count):
        app = f"service-{number:03d}"
        body: dict[str, Any] = {
            "metadata": {"name": app},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": app}}},
        }
        body["spec"]["template"] = {"metadata": {"labels": {"app": app}}, "spec": {"containers": [_container(app, 80)]}}
        path = f"/apis/apps/v1/namespaces/{namespace}/replicasets"
        answer = await bench.ask("POST", path, body, expect=(201,))
        owners.append(Owner(namespace, app, msgspec.json.decode(answer.body)["metadata"]["uid"]))
    return owners


def _creates(target: Target, owners: list[Owner], pods: int) -> Iterator[bytes]:
    for number in range(pods):
        owner = owners[number % len(owners)]
        path = f"/api/v1/namespaces/{owner.namespace}/pods"
        yield target.request("POST", path, msgspec.json.encode(_pod(number, owner)))


def _pod(number: int, owner: Owner) -> dict[str, Any]:
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner.name, "uid": owner.uid}
    labels = {"app": owner.name, "app.kubernetes.io/part-of": "shop", "pod-template-hash": "7d4b9c"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{owner.name}-7d4b9c-{number:06d}",
            "labels": labels,
            "ownerReferences": [{**reference, "controller": True}],
        },
        "spec": {"containers": [_container(owner.name, 8080), _container("proxy", 15001)]},
    }


def _container(name: str, port: int) -> dict[str, Any]:
    return {
        "name": name,
        "image": f"registry.example.com/shop/{name}:1.4.2",
        "ports": [{"containerPort": port}],
        "env": [{"name": "MODE", "value": "production"}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": port}},
    }
