"""Counts in the statuses of workloads and autoscalers."""

from __future__ import annotations

from collections.abc import Callable

from homeostat.objects.errors import Cause, invalid
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import integer, struct
from homeostat.server.kinds.builtins.value import check_counts

_COUNTS = ("observedGeneration", "replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas")
_DAEMONS = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")


def _counted(*names: str, most: str = "readyReplicas") -> Callable[[JsonObject, JsonObject], list[Cause]]:
    """Numbers that are not negative, of which parts of `replicas` are not more than all of them."""
    parts = [name for name in names if name.endswith("Replicas") and name != "unavailableReplicas"]

    def check(new: JsonObject, old: JsonObject) -> list[Cause]:
        status = struct(new, "status")
        causes = check_counts(status, "status", *names)
        if "replicas" in names:
            causes += _check_parts(status, parts, most)
        return causes + _check_collisions(status, struct(old, "status"))

    return check


def _check_parts(status: JsonObject, parts: list[str], most: str) -> list[Cause]:
    total = integer(status, "replicas")
    causes = [
        invalid(f"status.{name}", integer(status, name), "cannot be greater than status.replicas")
        for name in parts
        if integer(status, name) > total
    ]
    available = integer(status, "availableReplicas")
    if available > integer(status, "readyReplicas"):
        causes.append(invalid("status.availableReplicas", available, f"cannot be greater than {most}"))
    return causes


def _check_collisions(status: JsonObject, old: JsonObject) -> list[Cause]:
    count, former = status.get("collisionCount"), old.get("collisionCount")
    if former is None or (count is not None and integer(status, "collisionCount") >= integer(old, "collisionCount")):
        return []
    return [invalid("status.collisionCount", integer(status, "collisionCount"), "cannot be decremented")]


_REPLICAS = _counted(*_COUNTS)
CHECKS = {
    ("", "ReplicationController"): _REPLICAS,
    ("apps", "ReplicaSet"): _REPLICAS,
    ("apps", "Deployment"): _counted(*_COUNTS[:4], "updatedReplicas", "unavailableReplicas", "collisionCount"),
    ("apps", "StatefulSet"): _counted(
        *_COUNTS[:4], "currentReplicas", "updatedReplicas", "collisionCount", most="status.readyReplicas"
    ),
    ("apps", "DaemonSet"): _counted(
        *_DAEMONS,
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): _counted("currentReplicas", "desiredReplicas"),
}
