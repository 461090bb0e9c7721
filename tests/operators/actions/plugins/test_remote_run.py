"""When a run of another system is lost, and what is known of it in another term."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from homeostat.operators.actions.plugins.command import CommandPlugin
from homeostat.operators.actions.plugins.remote_run import MissingRuns, RunOwners
from homeostat.operators.actions.world import Lost, Underway
from tests.operators.actions.jobs import START, Desk, tools


def looks(sought: MissingRuns, *seconds: float) -> list[str]:
    desk = Desk(CommandPlugin(tools()), {"apply": ["x"]}, Path("/nonexistent"))
    told = []
    for each in seconds:
        desk.now = START + timedelta(seconds=each)
        end = sought.note_missing(desk.job({}, "apply"), 10.0)
        told.append("lost" if isinstance(end, Lost) else "sought" if isinstance(end, Underway) else "")
    return told


def test_a_run_is_lost_after_a_while_of_searching() -> None:
    assert looks(MissingRuns(), 0, 10, 20, 30, 40, 50, 60) == ["sought"] * 6 + ["lost"]


def test_a_break_starts_the_wait_again() -> None:
    sought = MissingRuns()
    assert looks(sought, 0, 100, 110, 120, 130, 140, 150) == ["sought"] * 7
    assert looks(sought, 160) == ["lost"]


def test_what_was_found_is_not_sought_any_more() -> None:
    sought = MissingRuns()
    looks(sought, 0, 10, 20, 30, 40, 50)
    sought.forget("u-1-1")
    assert looks(sought, 60) == ["sought"]


def test_a_run_that_is_known_to_be_anothers_is_not_taken() -> None:
    claims = RunOwners(most=2)
    claims.claim(1, "mine")
    assert [
        claims.is_owned_by_another(1, "mine"),
        claims.is_owned_by_another(1, "other"),
        claims.is_owned_by_another(2, "other"),
    ] == [
        False,
        True,
        False,
    ]
    claims.claim(2, "b")
    claims.claim(3, "c")
    assert not claims.is_owned_by_another(1, "other")
