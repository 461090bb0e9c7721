"""Pods and policies as the conformance cases name them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from homeostat.objects.json import JsonObject, encode
from homeostat.objects.time.timestamp import parse_time
from homeostat.objects.views.pod import Pod
from homeostat.operators.policy.enforcement.plan import Plan, plan_of
from homeostat.operators.policy.enforcement.plans import Plans
from homeostat.operators.policy.engine.evaluator import Evaluator, compile_policy
from homeostat.operators.policy.engine.invalid import Fault
from homeostat.operators.policy.engine.totals import RunningTotals, Totals
from homeostat.operators.policy.spec import PolicySpec

MOMENT = parse_time("2026-11-16T12:00:00Z")
NOW = MOMENT.timestamp()
LONG_AGO = "2026-11-16T10:00:00Z"

ALL = PolicySpec(
    forbid_latest_tag=True,
    require_liveness_probe=True,
    require_readiness_probe=True,
    max_restart_count=3,
    forbid_pending_duration=300,
)


def container(
    image: str = "nginx:1.25", *, name: str = "main", liveness: bool = True, readiness: bool = True
) -> JsonObject:
    probes: JsonObject = {}
    if liveness:
        probes["livenessProbe"] = {"httpGet": {"path": "/", "port": 80}}
    if readiness:
        probes["readinessProbe"] = {"tcpSocket": {"port": 80}}
    return {"name": name, "image": image, **probes}


def pod_json(
    *containers: JsonObject,
    name: str = "web",
    restarts: int = 0,
    phase: str = "Running",
    created: str = LONG_AGO,
    namespace: str = "production",
    labels: dict[str, str] | None = None,
    owner: tuple[str, str] | None = None,
) -> JsonObject:
    given = containers or (container(),)
    metadata: JsonObject = {"name": name, "namespace": namespace, "creationTimestamp": created, "resourceVersion": "1"}
    if labels is not None:
        metadata["labels"] = labels
    if owner is not None:
        metadata["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": owner[0], "name": owner[1], "uid": "1"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": list(given)},
        "status": {
            "phase": phase,
            "containerStatuses": [{"name": each["name"], "restartCount": restarts} for each in given],
        },
    }


def to_pod(body: JsonObject) -> Pod:
    return msgspec.json.decode(encode(body), type=Pod)


GOOD = to_pod(pod_json(name="good"))
BARE = to_pod(pod_json(container("nginx:latest", liveness=False, readiness=False), name="bare"))
WORST = to_pod(
    pod_json(container("nginx:latest", liveness=False, readiness=False), name="worst", restarts=10, phase="Pending")
)


def evaluator_of(spec: PolicySpec, name: str = "") -> Evaluator:
    compiled = compile_policy(spec, name=name)
    assert not isinstance(compiled, Fault), str(compiled)
    return compiled


def running_totals_of(spec: PolicySpec, *pods: Pod, now: float = NOW) -> RunningTotals:
    evaluator = evaluator_of(spec)
    return RunningTotals({f"{at}": evaluator.evaluate(pod, now=now) for at, pod in enumerate(pods)})


def plans_of(pods: Iterable[Pod], evaluator: Evaluator) -> tuple[Plan, ...]:
    plans = Plans()
    for at, pod in enumerate(pods):
        plans.put(f"{at}", plan_of(pod, evaluator, now=NOW).plan)
    return plans.all()


def totals_of(spec: PolicySpec, *pods: Pod, now: float = NOW) -> Totals:
    return running_totals_of(spec, *pods, now=now).totals()
