"""What the conditions of an object say when a look at it ended without a decision. Pure."""

from __future__ import annotations

import re

from homeostat.client.base import UnreachableError
from homeostat.objects.conditions import PAUSED, READY, RECONCILING, STALLED, Condition
from homeostat.objects.decision import Stalled, Wait
from homeostat.objects.json import Json
from homeostat.runtime.control.status import Snapshot

_LONGEST_MESSAGE = 2048
_is_reason = re.compile(r"[A-Z][A-Za-z0-9]{0,127}", re.ASCII).fullmatch

Conditions = tuple[Condition, ...]


def of_wait(wait: Wait) -> Conditions:
    """Whatever was known of it before is known no more."""
    reason, message = reason_of(wait), _message(wait)
    return (Condition(RECONCILING, "True", reason, message), Condition(READY, "Unknown", reason, message))


def of_stall(stall: Stalled) -> Conditions:
    reason, message = reason_of(stall), _message(stall)
    return (Condition(STALLED, "True", reason, message), Condition(READY, "False", reason, message))


def of_error(error: Exception) -> Conditions:
    return (Condition(READY, "False", reason_of(error), _message(error)),)


def of_pause(annotation: str, snapshot: Snapshot) -> Conditions:
    """How ready it was stays; of what was never looked at nothing is known."""
    reason = "PausedByAnnotation"
    told = f'the annotation "{annotation}" is set: nothing is done for this object until it is removed'
    conditions: Conditions = (Condition(PAUSED, "True", reason, told),)
    if _held_ready(snapshot) is None:
        conditions += (Condition(READY, "Unknown", reason, told),)
    return conditions


def sole_error(error: Exception) -> Exception:
    """What a task group raised, where it was one thing: who starts tasks in a look ends it with the same errors."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        (error,) = error.exceptions
    return error


def reason_of(error: Exception) -> str:
    """The error's own reason where it has one, else what sort of error it is."""
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
    # Names of files and answers of programs may hold what no JSON can.
    told = str(error).encode(errors="replace").decode().strip()
    told = told or ("it took too long" if isinstance(error, TimeoutError) else reason_of(error))
    return told if len(told) <= _LONGEST_MESSAGE else told[: _LONGEST_MESSAGE - 3] + "..."


def _held_ready(snapshot: Snapshot) -> Json:
    conditions = (snapshot.status or {}).get("conditions") or ()
    return next(
        (each.get("status") for each in conditions if isinstance(each, dict) and each.get("type") == READY), None
    )
