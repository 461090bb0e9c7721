"""The conditions of an object whose reconciliation ended without a decision. Pure."""

from __future__ import annotations

import re

from homeostat.client.base import UnreachableError
from homeostat.objects.conditions import PAUSED, READY, RECONCILING, STALLED, Condition
from homeostat.objects.decision import Stalled, Wait
from homeostat.objects.json import Json
from homeostat.runtime.control.status import Snapshot

PAUSE = "homeostat.dev/paused"
_LONGEST_MESSAGE = 2048
_is_reason = re.compile(r"[A-Z][A-Za-z0-9]{0,127}", re.ASCII).fullmatch

Conditions = tuple[Condition, ...]


def of_wait(wait: Wait) -> Conditions:
    """Readiness is no longer known."""
    reason, message = reason_of(wait), _message(wait)
    return (Condition(RECONCILING, "True", reason, message), Condition(READY, "Unknown", reason, message))


def of_stall(stall: Stalled) -> Conditions:
    reason, message = reason_of(stall), _message(stall)
    return (Condition(STALLED, "True", reason, message), Condition(READY, "False", reason, message))


def of_error(error: Exception) -> Conditions:
    return (Condition(READY, "False", reason_of(error), _message(error)),)


def of_pause(annotation: str, snapshot: Snapshot) -> Conditions:
    """Keeps the Ready condition that the object has; Unknown where it was never reconciled."""
    reason = "PausedByAnnotation"
    message = f'Paused by the annotation "{annotation}"; remove it to resume'
    conditions: Conditions = (Condition(PAUSED, "True", reason, message),)
    if _held_ready(snapshot) is None:
        conditions += (Condition(READY, "Unknown", reason, message),)
    return conditions


def sole_error(error: Exception) -> Exception:
    """The error in a group of one: an operator that starts tasks fails with the same errors as one that does not."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        (error,) = error.exceptions
    return error


def reason_of(error: Exception) -> str:
    """The error's own reason where it has one, else the name of its type."""
    own = getattr(error, "reason", "")
    if isinstance(own, str) and _is_reason(own):
        return own
    match error:
        case TimeoutError():
            return "TimedOut"
        case UnreachableError():
            return "Unreachable"
        case _:
            name = type(error).__name__.lstrip("_")
            return name if _is_reason(name) else "Failed"


def _message(error: Exception) -> str:
    # Names of files and output of programs may hold text that JSON cannot.
    text = str(error).encode(errors="replace").decode().strip()
    text = text or ("Deadline exceeded" if isinstance(error, TimeoutError) else reason_of(error))
    return text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 3] + "..."


def _held_ready(snapshot: Snapshot) -> Json:
    conditions = (snapshot.status or {}).get("conditions") or ()
    return next(
        (each.get("status") for each in conditions if isinstance(each, dict) and each.get("type") == READY), None
    )
