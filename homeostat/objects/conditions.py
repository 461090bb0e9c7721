"""Conditions of an object's status, one of each type.

They follow `metav1.Condition`: `lastTransitionTime` is when `status` last changed, and nothing else moves it. Setting,
removing and summarising return new values, so a reconciliation computes them all and writes once. Pure: the caller
passes the time.

Most types are good when True. Those of `ABNORMAL` are good when False or absent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Literal

import msgspec

from homeostat.objects.time.timestamp import format_time

Status = Literal["True", "False", "Unknown"]

READY = "Ready"
RECONCILING = "Reconciling"
STALLED = "Stalled"
PAUSED = "Paused"
ABNORMAL = (STALLED, RECONCILING)
"""Types that are good when False (kstatus and other tools know them); the more severe one first."""


class Condition(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """We write every field, and accept conditions without reason or message: those of many built-in kinds have none."""

    type: str
    status: Status
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int | msgspec.UnsetType = msgspec.UNSET


def find(conditions: Iterable[Condition], type: str) -> Condition | None:  # noqa: A002
    return next((each for each in conditions if each.type == type), None)


def is_true(conditions: Iterable[Condition], type: str) -> bool:  # noqa: A002
    """Whether the condition is there and its status is True."""
    found = find(conditions, type)
    return found is not None and found.status == "True"


def set_condition(current: Iterable[Condition], new: Condition, *, now: datetime) -> tuple[Condition, ...]:
    """The conditions with `new` in place of the one of its type, or appended.

    If the status changes, the transition time is that of `new`, or `now`; if it does not, the old time stays.
    The type of `new` occurs once in the result; the other types occur as often as before.
    """
    conditions = tuple(current)
    at = next((at for at, each in enumerate(conditions) if each.type == new.type), None)
    if at is None:
        return (*conditions, _dated(new, new.last_transition_time, now))
    previous = conditions[at]
    moment = previous.last_transition_time if previous.status == new.status else new.last_transition_time
    return (*conditions[:at], _dated(new, moment, now), *remove_condition(conditions[at + 1 :], new.type))


def _dated(condition: Condition, moment: str | None, now: datetime) -> Condition:
    moment = moment or format_time(now)
    if condition.last_transition_time == moment:
        return condition
    return msgspec.structs.replace(condition, last_transition_time=moment)


def remove_condition(current: Iterable[Condition], type: str) -> tuple[Condition, ...]:  # noqa: A002
    return tuple(each for each in current if each.type != type)


def summarise(
    conditions: Iterable[Condition],
    types: Collection[str],
    *,
    abnormal: Collection[str] = ABNORMAL,
    into: str = READY,
) -> Condition:
    """One condition that summarises others, with the reason and the message of the one that decided it.

    False where one of `types` is False or one of `abnormal` is True, but Reconciling=True only makes it Unknown; else
    Unknown where one is Unknown or one of `types` is absent; else True. If several decide, the first does, `abnormal`
    before `types`.
    """
    by_type = {each.type: each for each in conditions}
    doubts = [by_type[each] for each in abnormal if each in by_type and by_type[each].status != "False"]
    failures = [each for each in doubts if each.status == "True" and each.type != RECONCILING]
    for type in types:  # noqa: A001
        found = by_type.get(type) or Condition(type, "Unknown", "Pending", f"{type} is unknown")
        if found.status == "False":
            failures.append(found)
        elif found.status == "Unknown":
            doubts.append(found)
    if failures:
        return Condition(into, "False", failures[0].reason, failures[0].message)
    if doubts:
        return Condition(into, "Unknown", doubts[0].reason, doubts[0].message)
    return Condition(into, "True", "Succeeded")
