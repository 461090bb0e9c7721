"""DaemonSets: one Pod on each Node that fits, and what their status says. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import Pod, PodSpec, Workload
from homeostat.operators.workloads.availability import seconds_until_available
from homeostat.operators.workloads.daemonsets.update import Place, Role, is_current, keep_one, roll
from homeostat.operators.workloads.scheduling.fit import NodeFacts, matches_node, obstacle
from homeostat.operators.workloads.status import is_same_status

GENERATION: Final = "pod-template-generation"
REQUIRED: Final = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
)
_TOLERATED: Final = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)


class Decision(msgspec.Struct, frozen=True):
    create: tuple[str, ...]
    """Names of Nodes."""
    delete: tuple[Pod, ...]
    status: JsonObject | None
    again_s: float | None


def spec_on(template: JsonObject, node: str) -> JsonObject:
    """The spec of the Pod for one Node: the affinity that ties it there, and the tolerations of every daemon."""
    spec = template.get("spec") or {}
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    affinity = {**(spec.get("affinity") or {})}
    affinity["nodeAffinity"] = {**(affinity.get("nodeAffinity") or {}), **required}
    extra = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in _TOLERATED]
    given = [*(spec.get("tolerations") or ())]
    return {**spec, "affinity": affinity, "tolerations": [*given, *(each for each in extra if each not in given)]}


def role_of(daemon: Workload, node: NodeFacts) -> Role:
    """What is used on the Node does not count. Pods stay on a Node that got a taint with the effect NoSchedule."""
    template = daemon.spec.get("template") or {}
    declared = msgspec.convert(template.get("spec") or {}, PodSpec)
    if declared.node_name not in ("", node.name) or not matches_node(declared, node.labels, node.name):
        return "unsuitable"
    spec = msgspec.convert(spec_on(template, node.name), PodSpec)
    if not obstacle(spec, {}, node, {}):
        return "wanted"
    lasting = tuple(each for each in node.taints if each.get("effect") == "NoExecute")
    return "unsuitable" if obstacle(spec, {}, msgspec.structs.replace(node, taints=lasting), {}) else "kept"


def target_of(pod: Pod) -> str:
    """The Node that the Pod is on, or waits for by its affinity; empty if nothing ties it to one Node."""
    if pod.spec.node_name:
        return pod.spec.node_name
    required = (pod.spec.affinity.get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for each in term.get("matchFields") or ():
            values = list(each.get("values") or ())
            if each.get("key") == "metadata.name" and each.get("operator") == "In" and len(values) == 1:
                return str(values[0])
    return ""


def decide(
    daemon: Workload,
    nodes: Iterable[NodeFacts],
    pods: Sequence[Pod],
    *,
    digest: str,
    now: datetime,
    held: Collection[str] = (),
) -> Decision:
    """`digest` is the hash of the current template; `held` the uids of failed Pods that are not deleted yet."""
    if daemon.metadata.is_terminating:
        return Decision((), (), None, None)
    places = _places(daemon, nodes, pods)
    step = keep_one(daemon, places, digest, now, held)
    if not step and (daemon.spec.get("updateStrategy") or {}).get("type") != "OnDelete":
        step = roll(daemon, places, digest, now)
    status, again_s = _status(daemon, places, digest, now)
    is_same = is_same_status(daemon.status, status)
    return Decision(step.create, step.delete, None if is_same else status, again_s)


def _places(daemon: Workload, nodes: Iterable[NodeFacts], pods: Sequence[Pod]) -> list[Place]:
    """By the names of Nodes: those that the daemon runs on or has Pods on."""
    by_node: dict[str, list[Pod]] = {}
    for pod in sorted(pods, key=lambda each: (not each.spec.node_name, each.metadata.creation_timestamp, each.key)):
        if (target := target_of(pod)) and not (pod.metadata.is_terminating and pod.is_finished):
            by_node.setdefault(target, []).append(pod)
    roles = {each.name: role_of(daemon, each) for each in nodes}
    names = by_node.keys() | {name for name, role in roles.items() if role == "wanted"}
    return [Place(name, roles.get(name, "unsuitable"), tuple(by_node.get(name, ()))) for name in sorted(names)]


def _status(daemon: Workload, places: Sequence[Place], digest: str, now: datetime) -> tuple[JsonObject, float | None]:
    """Of several Pods on a Node the oldest counts."""
    min_ready_s = daemon.spec.get("minReadySeconds") or 0
    wanted = [each for each in places if each.role == "wanted"]
    counted = [each.pods[0] for each in wanted if each.pods]
    waits = [seconds_until_available(each, min_ready_s, now) for each in counted]
    available = sum(1 for each in waits if each == 0.0)
    status: JsonObject = {
        "currentNumberScheduled": len(counted),
        "numberMisscheduled": sum(1 for each in places if each.role != "wanted" and each.pods),
        "desiredNumberScheduled": len(wanted),
        "numberReady": sum(1 for each in waits if each is not None),
        "observedGeneration": daemon.metadata.generation,
        "updatedNumberScheduled": sum(1 for each in counted if is_current(each, digest)),
        "numberAvailable": available,
        "numberUnavailable": len(wanted) - available,
    }
    every = (seconds_until_available(each, min_ready_s, now) for place in places for each in place.pods)
    later = [each for each in every if each]
    return status, min(later) if later else None
