"""Why resources are reconciled, and how many at a time, as the history records it."""

from __future__ import annotations

import asyncio

import pytest

from homeostat.testing.eventually import eventually
from tests.web.actions.calling import NOTE_TYPE, Api, note
from tests.web.actions.shelf import World


@pytest.fixture
def environment() -> dict[str, str]:
    return {"BACKOFF_BASE_DELAY": "1", "RECONCILE_INTERVAL": "1", "MAX_CONCURRENT_RECONCILES": "2"}


async def reasons(api: Api, number: int) -> list[tuple[str, bool, bool]]:
    """Oldest first: the reason, success, and drift."""
    told = (await api.get(f"/resources/{number}/history?limit=100")).body
    return [(each["trigger_reason"], each["success"], each["drift_detected"]) for each in reversed(told)]


async def test_each_reason_is_reported(notes: Api, shelf: World) -> None:
    shelf.trouble = "not yet"
    await notes.made("/resources", note("one"))
    await notes.becomes(1, "failed")
    shelf.trouble = ""
    await notes.becomes(1, "ready")
    assert (await reasons(notes, 1))[:2] == [("initial", False, False), ("retry", True, False)]
    applies = shelf.applies
    await eventually(lambda: reasons(notes, 1), lambda told: ("scheduled", True, False) in told)
    assert shelf.applies == applies
    shelf.things["one"] = "tampered"
    await eventually(lambda: reasons(notes, 1), lambda told: ("scheduled", True, True) in told)
    assert shelf.things["one"] == {"text": "hello", "size": 3}


async def test_no_more_run_together_than_are_allowed(notes: Api, shelf: World) -> None:
    shelf.takes_s = 0.05
    await asyncio.gather(*(notes.made("/resources", note(f"n{at}")) for at in range(5)))
    await eventually(lambda: len(shelf.things) == 5)
    assert shelf.most_running == 2


async def test_what_is_allowed_counts_for_all_types_together(notes: Api, shelf: World) -> None:
    await notes.made("/resource-types", {**NOTE_TYPE, "name": "Memo"})
    shelf.takes_s = 0.05
    wanted = [note(f"n{at}", resource_type_name=name) for at in range(4) for name in ("Note", "Memo")]
    for each in wanted:
        each["name"] += each["resource_type_name"].lower()
    await asyncio.gather(*(notes.made("/resources", each) for each in wanted))
    await eventually(lambda: len(shelf.things) == 8)
    assert shelf.most_running == 2
