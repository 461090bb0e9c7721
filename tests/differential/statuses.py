"""Statuses with one wrong member, and what a real kube-apiserver says of them.

Each mutant is a path in the status and the value there; `...` takes the member away.
"""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from tests.differential.lifecycle import LIVES, Life
from tests.differential.mutants import Value

_PARTS = ("readyReplicas", "availableReplicas")
_ADDRESS = {"type": "InternalIP", "address": "1.2.3.4"}


def _counts(*more: str) -> JsonObject:
    return {"replicas": 3, **dict.fromkeys((*_PARTS, *more), 3), "observedGeneration": 1}


def _of_counts(*names: str) -> list[tuple[str, Value]]:
    wrong: list[tuple[str, Value]] = [(name, -1) for name in ("replicas", *_PARTS, *names, "observedGeneration")]
    too_many: list[tuple[str, Value]] = [(name, 4) for name in (*_PARTS, *names)]
    return [*wrong, *too_many, ("replicas", ...), ("readyReplicas", 2), ("readyReplicas", ...)]


STATUSES: dict[str, tuple[JsonObject, list[tuple[str, Value]]]] = {
    "Deployment": (
        {**_counts("updatedReplicas"), "unavailableReplicas": 1},
        [*_of_counts("updatedReplicas"), ("unavailableReplicas", -1), ("collisionCount", -1)],
    ),
    "ReplicaSet": (_counts("fullyLabeledReplicas"), _of_counts("fullyLabeledReplicas")),
    "ReplicationController": (_counts("fullyLabeledReplicas"), _of_counts("fullyLabeledReplicas")),
    "StatefulSet": (
        _counts("currentReplicas", "updatedReplicas"),
        [*_of_counts("currentReplicas", "updatedReplicas"), ("collisionCount", -1)],
    ),
    "DaemonSet": (
        {
            **dict.fromkeys(("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled"), 1),
            **dict.fromkeys(("numberReady", "updatedNumberScheduled", "numberAvailable", "numberUnavailable"), 1),
        },
        [
            (name, -1)
            for name in (
                "currentNumberScheduled",
                "numberMisscheduled",
                "desiredNumberScheduled",
                "numberReady",
                "updatedNumberScheduled",
                "numberAvailable",
                "numberUnavailable",
                "observedGeneration",
                "collisionCount",
            )
        ],
    ),
    "HorizontalPodAutoscaler": (
        {"currentReplicas": 1, "desiredReplicas": 1},
        [("currentReplicas", -1), ("desiredReplicas", -1)],
    ),
    "Job": (
        {"active": 1, "ready": 1, "startTime": "2024-01-01T00:00:00Z"},
        [
            ("active", ...),
            *((name, -1) for name in ("active", "succeeded", "failed", "ready", "terminating")),
            ("ready", 2),
            ("uncountedTerminatedPods", {"succeeded": ["a", "a"]}),
            ("uncountedTerminatedPods", {"succeeded": ["a"], "failed": ["a"]}),
            ("uncountedTerminatedPods", {"failed": [""]}),
            ("completionTime", "2024-01-01T00:00:01Z"),
            ("failedIndexes", "1"),
        ],
    ),
    "Ingress": (
        {"loadBalancer": {"ingress": [{"ip": "1.2.3.4", "hostname": "a.b"}]}},
        [("loadBalancer/ingress/0/ip", "a"), ("loadBalancer/ingress/0/hostname", "A")],
    ),
    "Node": ({"addresses": [_ADDRESS]}, [("addresses/1", _ADDRESS), ("addresses/1", {**_ADDRESS, "type": "Hostname"})]),
    "PersistentVolumeClaim": (
        {"phase": "Bound", "capacity": {"storage": "1Gi"}, "allocatedResources": {"storage": "1Gi"}},
        [
            ("capacity/storage", "-1"),
            ("allocatedResources/storage", "-1"),
            ("allocatedResources", {"cpu": "1"}),
            ("allocatedResources", {"a b": "1"}),
            ("allocatedResources", {"example.com/a": "1"}),
            ("allocatedResourceStatuses", {"storage": "Bogus"}),
            ("allocatedResourceStatuses", {"storage": "NodeResizePending"}),
            ("allocatedResourceStatuses", {"cpu": "NodeResizePending"}),
        ],
    ),
    "Pod": (
        {
            "phase": "Running",
            "conditions": [{"type": "example.com/a", "status": "True"}],
            "hostIP": "1.2.3.4",
            "hostIPs": [{"ip": "1.2.3.4"}],
            "podIP": "1.2.3.5",
            "podIPs": [{"ip": "1.2.3.5"}],
        },
        [
            ("conditions/0/type", "a b"),
            ("conditions/0/type", ...),
            ("conditions/0/observedGeneration", -1),
            ("observedGeneration", -1),
            ("nominatedNodeName", "A"),
            ("hostIP", "1.2.3.6"),
            ("hostIP", ...),
            ("hostIPs", ...),
            ("hostIPs/1", {"ip": "1.2.3.6"}),
            ("hostIPs/1", {"ip": "::1"}),
            ("podIP", ...),
            ("podIPs", ...),
            ("podIP", "1.2.3.6"),
            ("podIP", "a"),
            ("podIPs/0/ip", "1.2.3.6"),
            ("podIPs/1", {"ip": "1.2.3.6"}),
            ("podIPs/1", {"ip": "2001:db8::1"}),
            ("qosClass", "Guaranteed"),
            ("resourceClaimStatuses", [{"name": "a"}]),
        ],
    ),
}
"""By kind: a status that is right, and its mutants."""


def life_of(kind: str) -> Life:
    return next(life for life in LIVES if life.kind == kind)
