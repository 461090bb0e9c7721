"""What the run of a resource prints, over HTTP: while it runs, and afterwards."""

from __future__ import annotations

from homeostat.operators.actions.runs.output import EVERY_S
from homeostat.testing.eventually import eventually
from tests.web.actions.calling import Api, note
from tests.web.actions.shelf import World


async def test_what_a_run_prints_is_shown_while_it_runs(notes: Api, shelf: World) -> None:
    shelf.takes_s = 2 * EVERY_S
    await notes.made("/resources", note("one"))
    told = await eventually(lambda: notes.get("/resources/1/logs"), lambda each: each.body["output"])
    assert (told.body["is_running"], told.body["output"], told.body["length"]) == (True, "shelving one\n", 13)
    await notes.becomes(1, "ready")
    ended = (await notes.get("/resources/1/logs")).body
    assert ended == {**told.body, "is_running": False, "state": "succeeded", "ended_at": ended["ended_at"]}
    assert ended["started_at"] < ended["ended_at"]


async def test_a_quick_run_is_shown_from_its_record(notes: Api) -> None:
    await notes.made("/resources", note("one"))
    await notes.becomes(1, "ready")
    told = await eventually(lambda: notes.get("/resources/1/logs"), lambda each: each.body["output"])
    assert (told.body["is_running"], told.body["output"]) == (False, "shelved one\n")
    assert (await notes.get("/resources/99/logs")).status == 404


async def test_a_plan_that_failed_stands_for_itself_and_not_the_run_before_it(notes: Api, shelf: World) -> None:
    shelf.takes_s = 2 * EVERY_S
    await notes.made("/resources", note("one"))
    await eventually(lambda: notes.get("/resources/1/logs"), lambda each: each.body["output"])
    await notes.becomes(1, "ready")
    shelf.trouble = "no shelf"
    assert (await notes.post("/resources/1/reconcile")).status == 202
    await notes.becomes(1, "failed")
    told = (await notes.get("/resources/1/logs")).body
    assert (told["purpose"], told["state"], told["trigger_reason"]) == ("plan", "failed", "manual")
    assert (told["output"], told["error_message"]) == ("Broken: no shelf\n", "Broken: no shelf")
