"""The conditions that the original sets, in its words. Pure."""

from __future__ import annotations

from typing import Final, TypeVar

from msgspec.structs import replace

from homeostat.objects.conditions import READY, RECONCILING, STALLED, Condition, find
from homeostat.objects.crd.custom_kind import Status
from homeostat.objects.decision import Decision, Notice
from homeostat.objects.declared import Declared

LONGEST: Final = 2048
CONFLICTING: Final = "Conflicting"
SPEC_INVALID: Final = "SpecInvalid"
SUSPENDED: Final = "Suspended"

A = TypeVar("A")
Conditions = tuple[Condition, ...]


def succeeded(message: str) -> Conditions:
    return Condition(READY, "True", "Ready", message), Condition(STALLED, "False", "Ready", message)


def failed(reason: str, message: str) -> Conditions:
    text = cut(message)
    return Condition(READY, "False", reason, text), Condition(STALLED, "True", reason, text)


def cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def of_policy(conditions: Conditions, *, is_running: bool = False, reason: str = "", message: str = "") -> Conditions:
    """With the two further conditions of a SyncPolicy. No generated kind overrides one here, so nothing conflicts."""
    why = reason or conditions[0].reason
    return (
        *conditions,
        Condition(RECONCILING, "True" if is_running else "False", why, message or conditions[0].message),
        Condition(CONFLICTING, "False", "CRDGeneratorOverride", ""),
    )


def observed(decision: Decision[A], obj: Declared) -> Decision[A]:
    """With the generation that each condition was set for."""
    generation = obj.metadata.generation
    conditions = tuple(replace(each, observed_generation=generation) for each in decision.conditions)
    return replace(decision, conditions=conditions)


def transition_notices(
    obj: Declared, conditions: Conditions, event: str, *, is_warning: bool = True
) -> tuple[Notice, ...]:
    """An Event if Ready changes its reason or its message; none if the state is the same."""
    ready = conditions[0]
    before = find(obj.read_status(Status).conditions, READY)
    if before is not None and (before.status, before.reason, before.message) == (
        ready.status,
        ready.reason,
        ready.message,
    ):
        return ()
    return (Notice("Warning" if is_warning else "Normal", event, ready.message),)
