"""What an operator decided: the value that a pure `decide` returns, and the two ways to end without one.

Here and not in the runtime, so that a `decide` needs nothing but data.
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
    """Something to tell people about the object, as an Event."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


class Decision(msgspec.Struct, Generic[A], frozen=True):
    """Actions to carry out in order, and what the status shall say.

    Without actions the object is settled, and only such a decision may say that it is ready: a status tells what was
    seen, and what is still to be done was not seen. `status` holds fields of the object's status by their wire names;
    a field that is None is removed. `conditions` need no times: they get them when they are set. `notices` are told
    once the status is written, so that what is noticed by comparing with the status before is told once.
    """

    actions: tuple[A, ...] = ()
    conditions: tuple[Condition, ...] = ()
    requeue_after: timedelta | None = None
    status: Mapping[str, Json] = msgspec.field(default_factory=dict)
    notices: tuple[Notice, ...] = ()

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
    """What an effect made that could not be named beforehand, as fields of the object's status.

    It is written before the next effect, so that a crash resumes and never repeats it.
    """

    status: Mapping[str, Json]


class Wait(Exception):  # noqa: N818
    """Nothing is wrong, but what the object needs is not there yet: look again `after` a while."""

    def __init__(self, reason: str, after: timedelta, *, message: str = "") -> None:
        super().__init__(message or reason)
        self.reason, self.after, self.message = reason, after, message


class Stalled(Exception):  # noqa: N818
    """No retry will help until the spec, or something the object depends on, changes."""

    def __init__(self, reason: str, *, message: str = "") -> None:
        super().__init__(message or reason)
        self.reason, self.message = reason, message
