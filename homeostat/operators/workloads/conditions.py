"""Conditions of workloads, as Kubernetes' controllers keep them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from homeostat.objects.json import JsonObject


def find(conditions: Sequence[JsonObject], kind: str) -> JsonObject | None:
    return next((each for each in conditions if each.get("type") == kind), None)


def with_condition(
    conditions: Sequence[JsonObject], kind: str, status: str, reason: str, message: str, *, now: str, key: str
) -> list[JsonObject]:
    """The list with this condition last. An equal status and reason leave the old one as it is; an equal status keeps
    the time of the transition. `key` is the further time that the kind of workload has (`lastUpdateTime`,
    `lastProbeTime`); empty if it has none.
    """
    former = find(conditions, kind)
    if former is not None and former.get("status") == status and former.get("reason") == reason:
        return list(conditions)
    since = former.get("lastTransitionTime") if former is not None and former.get("status") == status else now
    new: JsonObject = {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since or now,
    }
    if key:
        new[key] = now
    return [*without_condition(conditions, kind), new]


def without_condition(conditions: Sequence[JsonObject], kind: str) -> list[JsonObject]:
    return [each for each in conditions if each.get("type") != kind]
