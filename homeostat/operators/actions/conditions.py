"""The conditions of a resource at each moment of its life. Pure.

| moment | Ready | Reconciling | Degraded |
|---|---|---|---|
| a run begins | Unknown, ReconcileStarted | True, ReconcileStarted | unchanged |
| it succeeded | True, ReconcileSuccess, once nothing is left to do | False, ReconcileComplete | False, NoErrors |
| it failed | False, ReconcileFailed | False, ReconcileFailed | True, ReconcileFailed |
| it cannot be destroyed | False, ReconcileFailed | True, DestroyFailed (retrying) | True, ReconcileFailed |
| it is destroyed | Unknown, Deleting | False, Deleting | unchanged |
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from homeostat.objects.conditions import PAUSED, READY, RECONCILING, STALLED, Condition, find
from homeostat.operators.actions.api import DEGRADED, ResourceStatus
from homeostat.operators.actions.runs.run import Purpose

STARTED: Final = "ReconcileStarted"
DESTROY_FAILED: Final = "DestroyFailed"
FAILED: Final = "ReconcileFailed"
_LONGEST_TYPE: Final = 316
_LONGEST_MESSAGE: Final = 4096
_is_type = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII).fullmatch
_is_reason = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]{0,1000}[A-Za-z0-9_])?", re.ASCII).fullmatch
_OURS: Final = frozenset({READY, RECONCILING, DEGRADED, STALLED, PAUSED})

Conditions = tuple[Condition, ...]


def started_message(purpose: Purpose) -> str:
    return f"Running: {purpose}"


def current_message(status: ResourceStatus) -> str:
    """What a person should read now: while an error holds a run up, that error."""
    ready = find(status.conditions, READY)
    if status.run is not None and ready is not None and ready.status == "Unknown" and ready.reason != STARTED:
        return f"{status.message}; {ready.message}"
    return status.message


def of_start(purpose: Purpose) -> Conditions:
    message = started_message(purpose)
    return (Condition(READY, "Unknown", STARTED, message), Condition(RECONCILING, "True", STARTED, message))


def of_success(status: ResourceStatus, own: Iterable[Condition]) -> Conditions:
    """All conditions but Ready=True, which only a reconciliation that finds nothing to do may set."""
    conditions = (*_own(own), *_undisturbed())
    if find(status.conditions, READY) is None:
        return (Condition(READY, "Unknown", STARTED, "Applied; verifying"), *conditions)
    return conditions


def of_rest(status: ResourceStatus) -> Conditions:
    if status.phase == "failed":
        return of_failure(status.message, ())
    return (Condition(READY, "True", "ReconcileSuccess", status.message), *_undisturbed())


def of_failure(message: str, own: Iterable[Condition], *, is_deleting: bool = False) -> Conditions:
    reconciling = (
        Condition(RECONCILING, "True", DESTROY_FAILED, message)
        if is_deleting
        else Condition(RECONCILING, "False", FAILED, message)
    )
    return (
        *_own(own),
        Condition(READY, "False", FAILED, message),
        reconciling,
        Condition(DEGRADED, "True", FAILED, message),
    )


def of_destruction() -> Conditions:
    message = "Destroyed; releasing the resource"
    return (Condition(READY, "Unknown", "Deleting", message), Condition(RECONCILING, "False", "Deleting", message))


def _undisturbed() -> Conditions:
    return (
        Condition(RECONCILING, "False", "ReconcileComplete", "Not reconciling"),
        Condition(DEGRADED, "False", "NoErrors", "No errors"),
    )


def is_sound_condition(condition: Condition) -> bool:
    """Returns whether a server accepts the condition: an invalid one would make the whole status write fail."""
    is_named = _is_type(condition.type) and _is_reason(condition.reason)
    return is_named is not None and len(condition.type) <= _LONGEST_TYPE and len(condition.message) <= _LONGEST_MESSAGE


def _own(conditions: Iterable[Condition]) -> Conditions:
    """Without the conditions that only the operator may set."""
    return tuple(each for each in conditions if each.type not in _OURS)
