"""Nodes that fail because an annotation says so: conditions, taints, and when their Pods are evicted. Pure.

    kubectl annotate node node-1 simulation.homeostat.dev/outcome=unreachable

A Node that is `not-ready` has a kubelet that reports it; of one that is `unreachable` nothing is heard any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import OUTCOME, PodSpec, Workload
from homeostat.operators.workloads.conditions import find
from homeostat.operators.workloads.scheduling.fit import NodeFacts, tolerations_of


class Failure(NamedTuple):
    status: str
    """Of the condition Ready."""
    reason: str
    message: str
    taint: str


NOT_READY: Final = "not-ready"
UNREACHABLE: Final = "unreachable"
FAILURES: Final = {
    NOT_READY: Failure("False", "KubeletNotReady", "the node fails by rule", "node.kubernetes.io/not-ready"),
    UNREACHABLE: Failure(
        "Unknown",
        "NodeStatusUnknown",
        "Kubelet stopped posting node status.",
        "node.kubernetes.io/unreachable",
    ),
}
_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
_TAINTS: Final = frozenset(each.taint for each in FAILURES.values())
_REASONS: Final = frozenset(each.reason for each in FAILURES.values())


def is_given_up(node: NodeFacts) -> bool:
    """Whether an unreachable Node is known to be down for good, by a taint of its administrator."""
    return node.outcome == UNREACHABLE and any(each.get("key") == _OUT_OF_SERVICE for each in node.taints)


def failure_of(node: Workload) -> Failure | None:
    return FAILURES.get(node.metadata.annotations.get(OUTCOME, ""))


def outcome_fault(node: Workload) -> str:
    """What is wrong with the annotation; empty if nothing is."""
    given = node.metadata.annotations.get(OUTCOME)
    if given is None or given in FAILURES:
        return ""
    return f"outcome {given[:64]!r} of a Node is unknown; expected one of {', '.join(FAILURES)}"


def foreign_conditions(node: Workload, usual: Iterable[JsonObject]) -> list[JsonObject]:
    """Those that others have set; they stay as they are."""
    own = {each["type"] for each in usual}
    return [each for each in node.status.get("conditions") or () if each.get("type") not in own]


def failed_conditions(node: Workload, usual: Sequence[JsonObject], now: str) -> list[JsonObject] | None:
    """The conditions of a Node that begins or ceases to fail; None if they are as they should be."""
    failure = failure_of(node)
    former = {each.get("type"): each for each in node.status.get("conditions") or ()}
    ready = former.get("Ready") or {}
    if ready.get("reason") == (failure.reason if failure else None):
        return None
    if failure is None and ready.get("reason") not in _REASONS:
        return None
    found = []
    for each in usual:
        new = {**each}
        if failure is not None and (each["type"] == "Ready" or failure.status == "Unknown"):
            new |= {"status": failure.status, "reason": failure.reason, "message": failure.message}
        since = former.get(each["type"]) or {}
        if since.get("status") == new["status"]:
            new["lastTransitionTime"] = since.get("lastTransitionTime") or now
        found.append(new)
    return [*found, *foreign_conditions(node, usual)]


def wanted_taints(node: Workload, now: str) -> list[JsonObject] | None:
    """The taints of the Node, with those of its failure; None if it has them."""
    failure, given = failure_of(node), list(node.spec.get("taints") or ())
    others = [each for each in given if each.get("key") not in _TAINTS]
    if failure is None:
        ready = find(node.status.get("conditions") or (), "Ready") or {}
        is_over = len(others) < len(given) and ready.get("status") == "True"
        return others if is_over else None
    if sum(each.get("key") == failure.taint for each in given) == len(_EFFECTS):
        return None
    return [*others, *({"key": failure.taint, "effect": each, "timeAdded": now} for each in _EFFECTS)]


_EFFECTS: Final = ("NoSchedule", "NoExecute")


def stays_s(spec: PodSpec, taints: Sequence[JsonObject]) -> float | None:
    """How long a Pod stays on a Node with these taints; None if it may stay."""
    limits: list[float] = []
    for taint in taints:
        if taint.get("effect") != "NoExecute":
            continue
        found = tolerations_of(spec, taint)
        if not found:
            return 0.0
        seconds = [each["tolerationSeconds"] for each in found if each.get("tolerationSeconds") is not None]
        limits += [float(max(min(seconds), 0))] if seconds else []
    return min(limits) if limits else None
