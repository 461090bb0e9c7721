"""Runs over time: bars by time, kept apart; phases with their durations."""

from __future__ import annotations

from itertools import pairwise

from homeostat.web.dashboard.html.markup import el
from homeostat.web.dashboard.html.runs import MOST_BARS, Phase, Run, phases, run_chart
from tests.web.dashboard.site import Document


def ended(second: int, took_s: float = 1.0, look: str = "good") -> Run:
    return Run(f"2026-11-17T10:00:{second:02}Z", took_s, look, "failed" if look == "bad" else "success", "manual", "#x")


def drawn(*newest_first: Run) -> Document:
    return Document(str(el("main", run_chart(newest_first))))


def test_bars_stand_by_time_and_never_cover_each_other() -> None:
    close = drawn(*(ended(second) for second in (59, 2, 1, 0)))
    places = [float(each.attributes["x"]) for each in close.all("rect")]
    assert places[0] == 0
    assert places == sorted(places)
    assert all(right - left >= 16 for left, right in pairwise(places))
    assert places[3] - places[2] > 900
    at_once = [float(each.attributes["x"]) for each in drawn(*[ended(7)] * 60).all("rect")]
    assert len(at_once) == MOST_BARS
    assert min(at_once) >= 0
    assert max(at_once) <= 1100 - 16


def test_a_bar_is_as_high_as_its_run_took_long_and_says_how_it_ended() -> None:
    found = drawn(ended(30, 4.0, "bad"), ended(0, 1.0))
    short, long = (float(each.attributes["height"]) for each in found.all("rect"))
    assert abs(long / short - 4) < 0.2
    assert [each.attributes["aria-label"] for each in found.all("a")] == [
        "success, 1.0 s, manual, 2026-11-17T10:00:00Z",
        "failed, 4.0 s, manual, 2026-11-17T10:00:30Z",
    ]
    assert found.one("span", class_="legend").text == "✕ failed✓ success"


def test_fewer_than_two_runs_and_unreadable_times_are_not_drawn() -> None:
    assert run_chart([ended(0)]) is None
    assert run_chart([ended(0), Run("later", 1.0, "good", "success", "manual", "#x")]) is None


def test_phases_last_until_the_next_one_and_the_last_continues() -> None:
    found = (Phase("Planned", "2026-11-17T10:00:00Z"), Phase("Started", "2026-11-17T10:00:02.500000Z"))
    assert [each.text for each in Document(str(el("main", phases(found)))).all("li")] == [
        "Planned 10:00:00.000 UTC 2.5 s",
        "Started 10:00:02.500 UTC now",
    ]
    done = Document(str(el("main", phases(found, "2026-11-17T10:00:10Z"))))
    assert done.all("li")[1].text == "Started 10:00:02.500 UTC 7.5 s"
    assert [each.attributes["width"] for each in done.all("rect")] == ["25.00%", "75.00%"]
    assert phases(()) is None
