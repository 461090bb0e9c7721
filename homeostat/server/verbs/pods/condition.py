"""Conditions that the server itself writes, as JSON: those of Pods have fields that others lack. Pure."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import structs


def with_condition(status: JsonObject, condition: JsonObject, now: str) -> list[JsonObject]:
    """The conditions of a status with one of them set; its time changes only with its status."""
    conditions = structs(status, "conditions")
    former = next((each for each in conditions if each.get("type") == condition["type"]), None)
    is_kept = former is not None and former.get("status") == condition["status"]
    moment = former.get("lastTransitionTime") or now if former is not None and is_kept else now
    dated = {**condition, "lastTransitionTime": moment}
    if former is None:
        return [*conditions, dated]
    return [dated if each is former else each for each in conditions]
