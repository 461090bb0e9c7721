"""The state of an object of any kind in a word: from its conditions, its phase, or its replicas. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from homeostat.objects.conditions import Condition
from homeostat.objects.json import Json, JsonObject
from homeostat.web.dashboard.html.conditions import look_of

MAIN: Final = ("Ready", "Failed", "Complete", "Available", "Established")
"""The conditions that say most about an object, of which the first one is its state."""
_REPLICATED: Final = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"})
_GOOD: Final = frozenset({"Active", "Available", "Bound", "Running", "Succeeded", "Ready", "ready"})
_BAD: Final = frozenset({"Failed", "Lost", "failed", "Unknown"})
_LOOKS: Final = {"phase-pending": "wait", "phase-reconciling": "busy"}


class State(NamedTuple):
    """`look` is one of the drawing (`html/diagram.py`); an object without a state has no word."""

    look: str = "plain"
    word: str = ""


def state_of(kind: str, obj: JsonObject) -> State:
    if _dict(obj.get("metadata")).get("deletionTimestamp"):
        return State("gone", "deleting")
    status, spec = _dict(obj.get("status")), _dict(obj.get("spec"))
    if kind == "Pod":
        return _pod_state(status)
    conditions = conditions_of(obj)
    if kind in _REPLICATED:
        replicas = spec.get("replicas", 1)
        return _replicas_state(replicas, status.get("readyReplicas", 0), status, conditions)
    if kind == "DaemonSet":
        return _replicas_state(status.get("desiredNumberScheduled"), status.get("numberReady", 0), status, conditions)
    return _condition_state(conditions) or _phase_state(status)


def conditions_of(obj: JsonObject) -> list[Condition]:
    """Those of a status in the usual form; others are in the YAML."""
    try:
        return msgspec.convert(_dict(obj.get("status")).get("conditions") or [], list[Condition])
    except msgspec.ValidationError:
        return []


def _pod_state(status: Mapping[str, Json]) -> State:
    """As `kubectl get pods` says it: the reason of a container that waits, then the phase."""
    containers = [each for each in status.get("containerStatuses") or () if isinstance(each, dict)]
    for each in containers:
        reason = _dict(_dict(each.get("state")).get("waiting")).get("reason")
        if isinstance(reason, str) and reason:
            return State("busy" if reason in ("ContainerCreating", "PodInitializing") else "bad", reason)
    phase = str(status.get("phase") or "")
    if phase == "Running" and not all(each.get("ready") for each in containers):
        return State("busy", "running, not ready")
    if phase == "Pending":
        return State("wait", "pending")
    return _phase_state(status)


def _replicas_state(wanted: Json, ready: Json, status: Mapping[str, Json], conditions: list[Condition]) -> State:
    if not isinstance(wanted, int) or not isinstance(ready, int) or not status.get("observedGeneration"):
        return State("wait", "not observed")
    word = f"{ready:,} of {wanted:,} ready" if wanted else "scaled to 0"
    by_type = {each.type: each.status for each in conditions}
    if by_type.get("Progressing") == "False" or by_type.get("ReplicaFailure") == "True":
        return State("bad", word)
    if not wanted:
        return State("plain", word)
    return State("good" if ready >= wanted else "busy", word)


def _condition_state(conditions: list[Condition]) -> State | None:
    found = next((each for type_ in MAIN for each in conditions if each.type == type_), None)
    if found is None:
        return None
    word = found.type.lower() if found.status == "True" else found.reason or f"not {found.type.lower()}"
    look = "bad" if (found.type, found.status) == ("Failed", "True") else look_of(found)
    return State(_LOOKS.get(look, look), word)


def _phase_state(status: Mapping[str, Json]) -> State:
    phase = status.get("phase")
    if not isinstance(phase, str) or not phase:
        return State()
    return State("good" if phase in _GOOD else "bad" if phase in _BAD else "wait", phase.lower())


def _dict(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}
