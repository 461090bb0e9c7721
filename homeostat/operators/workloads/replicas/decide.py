"""ReplicaSets and ReplicationControllers: how many Pods to create, which to delete, and the status. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.selectors import EVERYTHING, LabelSelector, selector_of
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.workloads.api import Pod, Workload
from homeostat.operators.workloads.availability import count_available, in_deletion_order
from homeostat.operators.workloads.conditions import with_condition, without_condition
from homeostat.operators.workloads.status import is_same_status

MOST_AT_ONCE: Final = 500
"""Pods that one reconciliation creates or deletes, as in Kubernetes."""

_FAILURE: Final = "ReplicaFailure"


class Decision(msgspec.Struct, frozen=True):
    create: int
    delete: tuple[Pod, ...]
    status: JsonObject | None
    again_s: float | None


def selector_of_set(workload: Workload, *, is_plain: bool) -> LabelSelector:
    """A ReplicationController has a map of labels in place of a selector."""
    found = workload.spec.get("selector")
    if is_plain:
        labels = found or ((workload.spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
        return selector_of({"matchLabels": labels})
    return selector_of(found)


def decide(
    workload: Workload, pods: Sequence[Pod], *, related: Iterable[Pod] = (), failure: str = "", now: datetime
) -> Decision:
    """`pods` are the owned ones, `related` those of other sets of the same Deployment; `failure` says why Pods were not
    created in the last attempt.
    """
    active = [each for each in pods if each.is_active]
    wanted = workload.spec.get("replicas", 1)
    difference = 0 if workload.metadata.is_terminating else wanted - len(active)
    surplus = in_deletion_order(active, related)[:-difference] if difference < 0 else []
    status, again_s = _status(workload, active, difference, failure, now)
    return Decision(
        min(max(difference, 0), MOST_AT_ONCE),
        tuple(surplus[:MOST_AT_ONCE]),
        None if is_same_status(workload.status, status) else status,
        again_s,
    )


def _status(
    workload: Workload, active: Sequence[Pod], difference: int, failure: str, now: datetime
) -> tuple[JsonObject, float | None]:
    min_ready_s = workload.spec.get("minReadySeconds") or 0
    ready, available, again_s = count_available(active, min_ready_s, now)
    labels = ((workload.spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    matching = EVERYTHING if not labels else selector_of({"matchLabels": labels})
    status: JsonObject = {
        "replicas": len(active),
        "fullyLabeledReplicas": sum(1 for each in active if matching.matches(each.metadata.labels)),
        "readyReplicas": ready,
        "availableReplicas": available,
        "observedGeneration": workload.metadata.generation,
    }
    conditions = workload.status.get("conditions") or ()
    if failure and difference:
        # The first refusal stays: the next one names another Pod, and a new text would start an attempt at once.
        reason = "FailedCreate" if difference > 0 else "FailedDelete"
        status["conditions"] = with_condition(
            conditions, _FAILURE, "True", reason, failure, now=format_time(now), key=""
        )
    elif conditions:
        status["conditions"] = without_condition(conditions, _FAILURE)
    return status, again_s
