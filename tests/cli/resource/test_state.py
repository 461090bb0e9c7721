"""How a resource stands, and when a wait for it ends. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from homeostat.cli.resource.list import cells
from homeostat.cli.resource.state import Goal, end_of, standing_of
from homeostat.cli.resource.watch import row_of

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
READY = [{"type": "Ready", "status": "True", "reason": "ReconcileSuccess"}]
FAILED = [{"type": "Ready", "status": "False", "reason": "ReconcileFailed"}]
WAITING = [{"type": "Ready", "status": "False", "reason": "RetryLater"}]
RUN = {
    "ticket": "t",
    "purpose": "apply",
    "trigger": "initial",
    "digest": "d",
    "generation": 2,
    "began": "2026-01-01T11:59:00Z",
    "handle": {"runId": 1, "url": "https://ci.example.com/1"},
}
SETTLED = {"phase": "ready", "observedGeneration": 2, "reconciledGeneration": 2, "conditions": READY}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (SETTLED, "ready"),
        ({}, None),
        ({**SETTLED, "observedGeneration": 1}, None),
        ({**SETTLED, "run": RUN}, None),
        ({**SETTLED, "conditions": []}, None),
        ({**SETTLED, "reconciledGeneration": 1, "nextRun": "2026-01-01T12:05:00Z"}, "ready"),
        ({**SETTLED, "reconciledGeneration": 1, "nextRun": "2026-01-01T12:00:00Z"}, None),
        ({**SETTLED, "phase": "failed", "conditions": FAILED}, "failed"),
        ({**SETTLED, "phase": "failed", "conditions": WAITING}, None),
        ({**SETTLED, "phase": "failed", "conditions": FAILED, "observedGeneration": 1}, None),
    ],
    ids=[
        "ready",
        "pending",
        "older generation",
        "a run under way",
        "not looked at again",
        "the same in other words",
        "put off",
        "failed",
        "asked to wait",
        "an older failure",
    ],
)
def test_a_wait_ends_with_this_declaration_and_no_other(status: Any, expected: str | None) -> None:
    assert end_of({"metadata": {}, "status": status}, Goal(2), NOW) == expected


@pytest.mark.parametrize(("handled", "expected"), [("now", "ready"), ("before", None)])
def test_a_request_is_waited_for_until_it_is_answered(handled: str, expected: str | None) -> None:
    obj = {"metadata": {}, "status": {**SETTLED, "handledRequest": handled}}
    assert end_of(obj, Goal(2, "now"), NOW) == expected


def test_a_run_under_way_is_shown_with_its_age_and_its_link() -> None:
    status = {"phase": "reconciling", "message": "Running: apply", "run": RUN}
    told = standing_of({"status": status}).text(NOW.timestamp())
    assert told == "reconciling: Running: apply (60s) https://ci.example.com/1"
    obj = {"kind": "Crate", "metadata": {"namespace": "default", "name": "one"}, "status": status}
    assert row_of(obj, NOW.timestamp())[4:] == ("60s", "Running: apply", "https://ci.example.com/1")


def test_a_run_that_an_error_holds_up_shows_the_error() -> None:
    held = {"type": "Ready", "status": "Unknown", "reason": "ForgeUnreachable", "message": "ci: cannot connect"}
    obj = {
        "kind": "Crate",
        "metadata": {"name": "one"},
        "status": {"phase": "reconciling", "message": "Running: apply", "run": RUN, "conditions": [held]},
    }
    assert standing_of(obj).message == cells(obj, 0)[-1] == "Running: apply; ci: cannot connect"
