"""The conditions of a reconciliation that ended without a decision, whatever it ended with."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from homeostat.client.base import UnreachableError
from homeostat.objects.conditions import READY, Condition
from homeostat.objects.decision import Stalled, Wait
from homeostat.objects.errors import (
    ApiError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    TooManyRequestsError,
    UnavailableError,
)
from homeostat.objects.json import JsonObject, encode
from homeostat.runtime.control.failure_conditions import (
    Conditions,
    of_error,
    of_pause,
    of_stall,
    of_wait,
    reason_of,
    sole_error,
)
from homeostat.runtime.control.status import Snapshot, SnapshotMetadata, plan_status
from homeostat.testing.status import check_status

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SOON = timedelta(seconds=1)


class _PrivateError(Exception):
    """Nobody outside of its module knows the name."""


class odd_name(Exception):  # noqa: N801, N818
    """No word in CamelCase."""


def snapshot(ready: str = "") -> Snapshot:
    held = {
        "type": READY,
        "status": ready,
        "reason": "Was",
        "message": "m",
        "lastTransitionTime": "2025-01-01T00:00:00Z",
    }
    return Snapshot(SnapshotMetadata("a", "default", generation=3), {"conditions": [held]} if ready else None)


def written(held: Snapshot, conditions: Conditions) -> JsonObject:
    """The object as it is once the conditions are written."""
    patch = plan_status(held, conditions, now=NOW)
    assert patch is not None
    return {"kind": "Widget", "metadata": {"name": "a", "generation": 3}, "status": patch["status"]}


ERRORS: list[tuple[Exception, str]] = [
    (UnavailableError("the API is away"), "ServiceUnavailable"),
    (TooManyRequestsError("slow down", retry_after_s=5), "TooManyRequests"),
    (ForbiddenError("no"), "Forbidden"),
    (NotFoundError("gone"), "NotFound"),
    (InvalidError("spec.text: too long"), "Invalid"),
    (ApiError("what"), "InternalError"),
    (UnreachableError("connection refused", was_sent=False), "Unreachable"),
    (TimeoutError(), "TimedOut"),
    (TimeoutError("read timed out"), "TimedOut"),
    (OSError(13, "Permission denied"), "PermissionError"),
    (ZeroDivisionError("a mistake of ours"), "ZeroDivisionError"),
    (KeyError("x"), "KeyError"),
    (_PrivateError("hidden"), "PrivateError"),
    (odd_name("strange"), "Failed"),
    (ValueError(), "ValueError"),
    (ValueError("  \n "), "ValueError"),
    (ValueError("x" * 100_000), "ValueError"),
    (ValueError("a file named \udcff"), "ValueError"),
    (ExceptionGroup("two", [ValueError("a"), KeyError("b")]), "ExceptionGroup"),
]


@pytest.mark.parametrize(("error", "reason"), ERRORS, ids=lambda each: each if isinstance(each, str) else None)
def test_an_error_makes_an_object_unready_and_says_why(error: Exception, reason: str) -> None:
    (condition,) = of_error(error)
    assert (condition.type, condition.status, condition.reason) == (READY, "False", reason)
    assert 0 < len(condition.message) <= 2048
    check_status(written(snapshot(), of_error(error)))
    encode(written(snapshot(), of_error(error)))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (TimeoutError(), "Deadline exceeded"),
        (ValueError(), "ValueError"),
        (ValueError("a file named \udcff"), "a file named ?"),
        (ValueError("x" * 2048), "x" * 2048),
        (ValueError("x" * 2049), "x" * 2045 + "..."),
    ],
    ids=["no words of its own", "no words at all", "not unicode", "as long as may be", "too long"],
)
def test_a_message_always_says_something_and_never_too_much(error: Exception, message: str) -> None:
    assert of_error(error)[0].message == message


@pytest.mark.parametrize("reason", ["", "not a word", "lower", "Ünicode", "X" * 129])
def test_a_reason_that_is_none_is_not_written(reason: str) -> None:
    assert reason_of(Stalled(reason, message="m")) == "Stalled"
    assert reason_of(Wait(reason, SOON, message="m")) == "Wait"


def test_of_who_waits_nothing_is_known_any_more() -> None:
    conditions = of_wait(Wait("ImageMissing", SOON))
    assert {each.type: each.status for each in conditions} == {"Reconciling": "True", "Ready": "Unknown"}
    assert {each.reason for each in conditions} == {"ImageMissing"}


@pytest.mark.parametrize(("held", "ready"), [("", "Unknown"), ("True", "True"), ("False", "False")])
def test_a_pause_leaves_how_ready_an_object_is(held: str, ready: str) -> None:
    obj = written(snapshot(held), of_pause("example.dev/paused", snapshot(held)))
    conditions = {each["type"]: each["status"] for each in obj["status"]["conditions"]}
    assert conditions == {"Paused": "True", "Ready": ready}


def test_a_stall_is_reported_by_both_conditions() -> None:
    assert of_stall(Stalled("BadText", message="no")) == (
        Condition("Stalled", "True", "BadText", "no"),
        Condition("Ready", "False", "BadText", "no"),
    )


VERDICTS: dict[str, Callable[[Snapshot], Conditions]] = {
    "wait": lambda held: of_wait(Wait("Later", SOON)),
    "stall": lambda _: of_stall(Stalled("Never")),
    "error": lambda _: of_error(TimeoutError()),
    "pause": lambda held: of_pause("example.dev/paused", held),
}


@pytest.mark.parametrize("held", ["", "True", "False", "Unknown"])
@pytest.mark.parametrize("verdict", VERDICTS)
def test_what_holds_of_every_status_holds_after_each_of_them(verdict: str, held: str) -> None:
    check_status(written(snapshot(held), VERDICTS[verdict](snapshot(held))))


def test_a_group_of_one_error_is_that_error_however_deep() -> None:
    error = NotFoundError("gone")
    assert sole_error(ExceptionGroup("outer", [ExceptionGroup("inner", [error])])) is error
    assert sole_error(error) is error
    both = ExceptionGroup("both", [error, ValueError()])
    assert sole_error(both) is both
