"""The engine of the policy operator alone, without a server: `python -m benchmarks.policy.engine`.

100,000 Pods of 20,000 workloads in 200 namespaces, a policy each: how much memory they take, how long all of them and
one changed one take; and how long 10,000 manifests take that are read already.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec
from rich.box import SIMPLE_HEAD
from rich.table import Table

from benchmarks.report import console
from homeostat.objects.json import JsonObject
from homeostat.objects.views.pod import Pod
from homeostat.objects.yaml.document import Document
from homeostat.operators.policy.bundle import load_bundle
from homeostat.operators.policy.document import PolicyDocument, policy_document
from homeostat.operators.policy.engine.evaluator import CLEAN, Evaluator, compile_policy
from homeostat.operators.policy.engine.totals import RunningTotals
from tests.operators.policy.inspecting import inspect

_PODS, _NAMESPACES, _REPLICAS, _MANIFESTS = 100_000, 200, 5, 10_000
_NOW = 1_800_000_000.0


def show_engine() -> None:
    table = Table(title="policy engine", title_justify="left", box=SIMPLE_HEAD)
    for heading in ("what", "count", "CPU us each", "MiB"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for what, count, micros, mebibytes in _figures():
        table.add_row(what, f"{count:,}", f"{micros:.1f}", f"{mebibytes:.0f}" if mebibytes else "")
    console().print(table)


def _figures() -> Iterator[tuple[str, int, float, float]]:
    before = _resident_mib()
    pods, decoding_s = _decoded()
    yield "Pods decoded and held", _PODS, decoding_s / _PODS * 1e6, _resident_mib() - before
    for name in ("restricted", "hardened"):
        evaluator = compile_policy(load_bundle(name).spec)
        assert isinstance(evaluator, Evaluator)
        before = _resident_mib()
        tallies = {f"team-{at}": RunningTotals() for at in range(_NAMESPACES)}
        spent = _cpu_s(partial(_evaluate, pods, evaluator, tallies))
        yield f"all evaluated, {name}", _PODS, spent / _PODS * 1e6, _resident_mib() - before
        spent = _cpu_s(partial(_change, pods[:500], evaluator, tallies["team-0"]))
        yield f"one changed, {name}", 1000, spent / 1000 * 1e6, 0.0
    documents = [Document(f"{at}.yaml", _deployment(at)) for at in range(_MANIFESTS)]
    policies = [_policy("hardened")]
    spent = _cpu_s(partial(inspect, documents, policies, now=_NOW))
    yield "manifests inspected, hardened", _MANIFESTS, spent / _MANIFESTS * 1e6, 0.0


def _decoded() -> tuple[list[Pod], float]:
    pods: list[Pod] = []
    spent = 0.0
    for at in range(_PODS):
        data = msgspec.json.encode(_pod(at))
        begin = time.process_time()
        pods.append(msgspec.json.decode(data, type=Pod))
        spent += time.process_time() - begin
    return pods, spent


def _evaluate(pods: list[Pod], evaluator: Evaluator, tallies: dict[str, RunningTotals]) -> None:
    for pod in pods:
        tallies[pod.metadata.namespace].put(pod.name, evaluator.evaluate(pod, now=_NOW))


def _change(pods: list[Pod], evaluator: Evaluator, running: RunningTotals) -> None:
    """Back and forth, and each time everything that a status shows."""
    for at in range(1000):
        pod = pods[at % len(pods)]
        running.put(pod.name, evaluator.evaluate(pod, now=_NOW) if at % 2 else CLEAN)
        running.totals()
        running.findings(100)


def _policy(bundle: str) -> PolicyDocument:
    return policy_document("default", bundle, load_bundle(bundle).spec)


def _containers(workload: int) -> list[JsonObject]:
    probe = {"httpGet": {"path": "/healthz", "port": 8080}}
    return [
        {
            "name": name,
            "image": f"registry.example.com/team/{name}-{workload}:1.{workload % 5}",
            **({"livenessProbe": probe} if workload % 3 else {}),
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
            "ports": [{"containerPort": 8080}],
            "env": [{"name": "MODE", "value": "production"}],
        }
        for name in ("main", "sidecar")
    ]


def _pod(at: int) -> JsonObject:
    workload = at // _REPLICAS
    set_name = f"web-{workload}-5d4f8b9c7f"
    return {
        "metadata": {
            "name": f"{set_name}-{at:05d}",
            "namespace": f"team-{at * _NAMESPACES // _PODS}",
            "uid": f"{at:036d}",
            "resourceVersion": str(1_000_000 + at),
            "creationTimestamp": f"2026-11-16T03:{at // 60 % 60:02d}:{at % 60:02d}Z",
            "labels": {"app": f"web-{workload}", "pod-template-hash": "5d4f8b9c7f"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": set_name, "uid": "u"}],
        },
        "spec": {"containers": _containers(workload), "volumes": [{"name": "token", "projected": {}}]},
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "containerStatuses": [
                {"name": name, "restartCount": 4 if at % 7 == 0 else 0, "state": {"running": {}}, "imageID": "i" * 70}
                for name in ("main", "sidecar")
            ],
        },
    }


def _deployment(at: int) -> JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"web-{at}", "namespace": "shop"},
        "spec": {
            "replicas": 2,
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": _containers(at)}},
        },
    }


def _cpu_s(work: Callable[[], object]) -> float:
    gc.collect()
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _resident_mib() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


if __name__ == "__main__":
    show_engine()
