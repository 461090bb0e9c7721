"""DaemonSets: one Pod on each Node that fits, and their replacement at an update. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import Pod, PodSpec, Workload
from homeostat.operators.workloads.availability import in_deletion_order, seconds_until_available
from homeostat.operators.workloads.scheduling.fit import NodeFacts, matches_node, obstacle
from homeostat.operators.workloads.sizes import scaled
from homeostat.operators.workloads.status import is_same_status

HASH: Final = "controller-revision-hash"
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


def runs_on(daemon: Workload, node: NodeFacts) -> bool:
    """Whether the Node is one of its own; what is used on the Node does not count."""
    template = daemon.spec.get("template") or {}
    spec = msgspec.convert(spec_on(template, node.name), PodSpec)
    declared = msgspec.convert(template.get("spec") or {}, PodSpec)
    return matches_node(declared, node.labels, node.name) and not obstacle(spec, {}, node, {})


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
    daemon: Workload, nodes: Iterable[NodeFacts], pods: Sequence[Pod], *, digest: str, now: datetime
) -> Decision:
    """`digest` is the hash of the current template."""
    if daemon.metadata.is_terminating:
        return Decision((), (), None, None)
    wanted = {each.name for each in nodes if runs_on(daemon, each)}
    by_node: dict[str, list[Pod]] = {}
    for pod in pods:
        if target := target_of(pod):
            by_node.setdefault(target, []).append(pod)
    create = []
    delete = [pod for pod in pods if pod.status.phase == "Failed" and not pod.metadata.is_terminating]
    kept: dict[str, Pod] = {}
    for node in sorted(wanted):
        found = [each for each in by_node.get(node, ()) if each.is_active]
        if not found and not any(each.metadata.is_terminating for each in by_node.get(node, ())):
            create.append(node)
        if found:
            *surplus, kept[node] = in_deletion_order(found)
            delete += surplus
    misplaced = [each for node, some in by_node.items() if node not in wanted for each in some if each.is_active]
    delete += misplaced
    delete += _outdated(daemon, kept, digest, len(wanted), now)
    status, again_s = _status(daemon, kept, digest, len(wanted), len(misplaced), now)
    is_same = is_same_status(daemon.status, status)
    return Decision(tuple(create), tuple(delete), None if is_same else status, again_s)


def is_current(pod: Pod, digest: str) -> bool:
    return pod.metadata.labels.get(HASH) == digest


def _outdated(daemon: Workload, kept: dict[str, Pod], digest: str, wanted: int, now: datetime) -> list[Pod]:
    """Pods of an old template, as many as may be unavailable."""
    strategy = daemon.spec.get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return []
    old = [each for each in kept.values() if not is_current(each, digest)]
    limit = max(scaled((strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1), wanted, rounds_up=True), 1)
    min_ready_s = daemon.spec.get("minReadySeconds") or 0
    is_up = {each.key: seconds_until_available(each, min_ready_s, now) == 0.0 for each in kept.values()}
    down = [each for each in old if not is_up[each.key]]
    room = limit - (wanted - sum(is_up.values()))
    up = [each for each in old if is_up[each.key]]
    return down + up[: max(room, 0)]


def _status(
    daemon: Workload, kept: dict[str, Pod], digest: str, wanted: int, misplaced: int, now: datetime
) -> tuple[JsonObject, float | None]:
    min_ready_s = daemon.spec.get("minReadySeconds") or 0
    waits = [seconds_until_available(each, min_ready_s, now) for each in kept.values()]
    available = sum(1 for each in waits if each == 0.0)
    status: JsonObject = {
        "currentNumberScheduled": len(kept),
        "numberMisscheduled": misplaced,
        "desiredNumberScheduled": wanted,
        "numberReady": sum(1 for each in waits if each is not None),
        "observedGeneration": daemon.metadata.generation,
        "updatedNumberScheduled": sum(1 for each in kept.values() if is_current(each, digest)),
        "numberAvailable": available,
        "numberUnavailable": wanted - available,
    }
    later = [each for each in waits if each]
    return status, min(later) if later else None
