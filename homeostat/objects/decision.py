"""The value that a pure `decide` returns, and the two exceptions that end a reconciliation without one.

It is here and not in the runtime, so that a `decide` imports nothing but data.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Generic, Literal, TypeVar

import msgspec

from homeostat.objects.conditions import READY, Condition, is_true
from homeostat.objects.json import Json

A = TypeVar("A")


class Notice(msgspec.Struct, frozen=True):
    """An Event to record about the object."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


class Decision(msgspec.Struct, Generic[A], frozen=True):
    """The actions to carry out, in order, and the status to write.

    Without actions the object is settled. Only such a decision may set Ready=True: a status reports what was observed,
    and the result of an action was not observed yet. `status` holds fields of the object's status by their wire names;
    a field that is None is removed. The runtime adds the times of `conditions`, and removes those of the types in
    `absent`; conditions of other types stay. It records `notices` after the status is written, so that a notice about
    a change of the status is recorded once.
    """

    actions: tuple[A, ...] = ()
    conditions: tuple[Condition, ...] = ()
    requeue_after: timedelta | None = None
    status: Mapping[str, Json] = msgspec.field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    absent: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.actions and is_true(self.conditions, READY):
            raise ValueError(
                f"a decision with {len(self.actions)} actions must not set Ready=True; only a decision without "
                f"actions may"
            )
        if self.requeue_after is not None and self.requeue_after <= timedelta():
            raise ValueError(
                f"requeue_after is {self.requeue_after}; it must be positive (to act now, return an action)"
            )

    @property
    def is_settled(self) -> bool:
        return not self.actions


class Receipt(msgspec.Struct, frozen=True):
    """What an action created and could not name beforehand (a workflow run), as fields of the object's status.

    The runtime writes it before the next action, so that the action is not repeated after a crash.
    """

    status: Mapping[str, Json]


class Wait(Exception):  # noqa: N818
    """Something that the object needs is not there yet; reconcile again `after` this time."""

    def __init__(self, reason: str, after: timedelta, *, message: str = "") -> None:
        super().__init__(message or reason)
        self.reason, self.after, self.message = reason, after, message


class Stalled(Exception):  # noqa: N818
    """No retry will help until the spec, or something the object depends on, changes."""

    def __init__(self, reason: str, *, message: str = "") -> None:
        super().__init__(message or reason)
        self.reason, self.message = reason, message
