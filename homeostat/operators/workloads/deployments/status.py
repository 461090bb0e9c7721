"""The status of a Deployment: counts and the conditions Available, Progressing and ReplicaFailure. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.workloads.api import Workload
from homeostat.operators.workloads.availability import time_of
from homeostat.operators.workloads.conditions import find, with_condition, without_condition
from homeostat.operators.workloads.deployments.rollout import bounds_of
from homeostat.operators.workloads.deployments.sets import replicas_of

_UPDATED: Final = "lastUpdateTime"
_NO_DEADLINE: Final = 2**31 - 1
_FINISHED: Final = "NewReplicaSetAvailable"
_TIMED_OUT: Final = "ProgressDeadlineExceeded"


def counts_of(deployment: Workload, new: Workload | None, sets: Sequence[Workload]) -> JsonObject:
    total = _sum(sets, "replicas")
    available = _sum(sets, "availableReplicas")
    status: JsonObject = {
        "observedGeneration": deployment.metadata.generation,
        "replicas": total,
        "updatedReplicas": (new.status.get("replicas") or 0) if new else 0,
        "readyReplicas": _sum(sets, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(_wanted_total(sets) - available, 0),
    }
    if deployment.status.get("collisionCount"):
        status["collisionCount"] = deployment.status["collisionCount"]
    return status


def _wanted_total(sets: Sequence[Workload]) -> int:
    return sum(map(replicas_of, sets))


def _sum(sets: Sequence[Workload], name: str) -> int:
    return sum(each.status.get(name) or 0 for each in sets)


def is_complete(deployment: Workload, status: JsonObject) -> bool:
    wanted = replicas_of(deployment)
    counts = ("updatedReplicas", "replicas", "availableReplicas")
    observed: int = status["observedGeneration"]
    return all(status[name] == wanted for name in counts) and observed >= deployment.metadata.generation


def status_of(
    deployment: Workload, new: Workload | None, sets: Sequence[Workload], now: datetime
) -> tuple[JsonObject, float | None]:
    """The status, and in how many seconds the progress deadline may be exceeded. While a Deployment is paused, its
    progress is not judged.
    """
    status = counts_of(deployment, new, sets)
    conditions: list[JsonObject] = list(deployment.status.get("conditions") or ())
    moment = format_time(now)
    least = replicas_of(deployment) - bounds_of(deployment)[1]
    if status["availableReplicas"] >= least:
        words = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        words = ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    conditions = with_condition(conditions, "Available", *words, now=moment, key=_UPDATED)
    if deployment.spec.get("paused") or deployment.metadata.is_terminating:
        status["conditions"] = conditions
        return status, None
    conditions, again_s = _progressing(deployment, new, status, conditions, now)
    failure = next((found for each in (*filter(None, (new,)), *sets) if (found := _failure(each)) is not None), None)
    conditions = without_condition(conditions, "ReplicaFailure")
    if failure is not None:
        former = find(deployment.status.get("conditions") or (), "ReplicaFailure")
        kept = former if former and former.get("reason") == failure.get("reason") else {**failure, _UPDATED: moment}
        conditions.append(kept)
    status["conditions"] = conditions
    return status, again_s


def _failure(workload: Workload) -> JsonObject | None:
    return find(workload.status.get("conditions") or (), "ReplicaFailure")


def _progressing(
    deployment: Workload, new: Workload | None, status: JsonObject, conditions: list[JsonObject], now: datetime
) -> tuple[list[JsonObject], float | None]:
    deadline_s = deployment.spec.get("progressDeadlineSeconds", _NO_DEADLINE)
    if deadline_s == _NO_DEADLINE:
        return without_condition(conditions, "Progressing"), None
    current = find(conditions, "Progressing")
    moment = format_time(now)
    is_settled = (
        status["replicas"] == status["updatedReplicas"] and current is not None and current.get("reason") == _FINISHED
    )
    if is_settled:
        return conditions, None
    title = f'ReplicaSet "{new.metadata.name}"' if new else f'Deployment "{deployment.metadata.name}"'
    if is_complete(deployment, status):
        words = ("True", _FINISHED, f"{title} has successfully progressed.")
        return with_condition(conditions, "Progressing", *words, now=moment, key=_UPDATED), None
    if _has_progressed(deployment.status, status):
        return _updated(conditions, current, f"{title} is progressing.", moment), deadline_s + 1.0
    left_s = _time_left(current, deadline_s, now)
    if left_s is not None and left_s <= 0:
        words = ("False", _TIMED_OUT, f"{title} has timed out progressing.")
        return with_condition(conditions, "Progressing", *words, now=moment, key=_UPDATED), None
    return conditions, left_s


def _updated(conditions: list[JsonObject], current: JsonObject | None, message: str, moment: str) -> list[JsonObject]:
    """Progress is noted each time, so that the deadline counts from the last of it."""
    since = current.get("lastTransitionTime") if current is not None and current.get("status") == "True" else moment
    new = {
        "type": "Progressing",
        "status": "True",
        "reason": "ReplicaSetUpdated",
        "message": message,
        "lastTransitionTime": since or moment,
        _UPDATED: moment,
    }
    return [*without_condition(conditions, "Progressing"), new]


def _has_progressed(old: JsonObject, new: JsonObject) -> bool:
    def grew(name: str) -> bool:
        return bool(new[name] > (old.get(name) or 0))

    before = (old.get("replicas") or 0) - (old.get("updatedReplicas") or 0)
    return (
        grew("updatedReplicas")
        or grew("readyReplicas")
        or grew("availableReplicas")
        or new["replicas"] - new["updatedReplicas"] < before
    )


def _time_left(current: JsonObject | None, deadline_s: int, now: datetime) -> float | None:
    """None if there is no deadline now: the rollout has ended in one way or the other."""
    if current is None or current.get("reason") in {_FINISHED, _TIMED_OUT}:
        return None
    elapsed_s = (now - time_of(current.get(_UPDATED) or "", now)).total_seconds()
    return deadline_s - elapsed_s
