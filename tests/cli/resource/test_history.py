"""`homeostat resource history`: what was done, also for what is gone."""

from __future__ import annotations

import pytest

from homeostat.cli.resource.history import seconds_text
from tests.cli.resource.applying import applied
from tests.cli.running import Cli
from tests.cli.shelf import Shelf, crate


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.00066, "0.001"), (0.02, "0.020"), (0.25, "0.2"), (4.24, "4.2"), (127, "127")]
)
def test_the_time_that_a_run_took_is_shown_as_finely_as_it_matters(seconds: float, told: str) -> None:
    assert seconds_text(seconds) == told


def test_history_is_kept_of_what_is_gone(typed: Cli, shelf: Shelf) -> None:
    applied(typed, crate("past"))
    applied(typed, crate("past", size=2))
    typed.here("resource", "delete", "crate/past", "--wait")
    applied(typed, crate("present"))
    rows = typed.here("resource", "history", "crate/past").rows
    assert rows[0] == ["TYPE", "NAME", "AGE", "TRIGGER", "GENERATION", "RESULT", "CHANGES", "DRIFT", "SECONDS", "ERROR"]
    assert [(row[3], row[5]) for row in rows[1:]] == [
        ("deletion", "success"),
        ("spec_change", "success"),
        ("initial", "success"),
    ]
    gone = {
        each["spec"]["resourceName"] for each in typed.here("resource", "history", "--gone", "-o", "json").json["items"]
    }
    assert "past" in gone
    assert "present" not in gone
    assert len(typed.here("resource", "history", "crate", "past", "--limit", "1").rows) == 2
    none = typed.here("resource", "history", "crate/past", "--failed")
    assert (none.code, none.err) == (0, "No reconciliations found.\n")
    for words, error in (
        (("Nothing",), 'there is no resource type "Nothing"; there are: Crate'),
        (("past-type/none", "-A", "-o", "wide"), 'there is no resource type "past-type"'),
        (
            ("crate/presnt",),
            'there is no Crate "presnt" in namespace default, and no history of one; did you mean "pre',
        ),
    ):
        refused = typed.here("resource", "history", *words)
        assert (refused.code, refused.out) == (1, "")
        assert error in refused.err


def test_failures_can_be_singled_out(typed: Cli, shelf: Shelf) -> None:
    shelf.refuses = 500
    applied(typed, crate("bad"))
    rows = typed.here("resource", "history", "crate/bad", "--failed", "-A").rows
    assert rows[1][0] == "default"
    assert rows[1][4:8] == ["initial", "1", "failed", "+0"]
