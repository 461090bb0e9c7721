"""When something recurring is due next, in every time zone and across changes of the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homeostat.runtime.schedule import Cron, Interval, Schedule, ScheduleError, next_due, parse_schedule

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def following(schedule: Schedule, after: datetime, count: int) -> list[datetime]:
    found = [after]
    while len(found) <= count:
        found.append(next_due(schedule, found[-1]))
    return found[1:]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5m", Interval(timedelta(minutes=5))),
        ("1h30m", Interval(timedelta(hours=1, minutes=30))),
        ("@every 90s", Interval(timedelta(seconds=90))),
        ("*/5 * * * *", Cron("*/5 * * * *", "Europe/Berlin")),
        ("@daily", Cron("0 0 * * *", "Europe/Berlin")),
        (" @hourly ", Cron("0 * * * *", "Europe/Berlin")),
    ],
)
def test_a_schedule_is_an_interval_or_a_cron_expression(text: str, expected: Schedule) -> None:
    assert parse_schedule(text, zone="Europe/Berlin") == expected


@pytest.mark.parametrize(
    "text",
    ["", "soon", "@fortnightly", "* * * *", "* * * * * *", "60 * * * *", "0 0 30 2 *", "-5m", "0s", "1ms", "@every"],
)
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(ScheduleError):
        parse_schedule(text)


@pytest.mark.parametrize("zone", ["Nowhere/Town", "", "../etc/passwd", "/etc/passwd"])
def test_an_unknown_time_zone_is_refused(zone: str) -> None:
    with pytest.raises(ScheduleError, match="there is no time zone"):
        parse_schedule("@daily", zone=zone)


def test_an_interval_counts_from_the_time_given() -> None:
    assert next_due(Interval(timedelta(minutes=5)), at("2026-01-01T00:00:30+01:00")) == at("2025-12-31T23:05:30Z")


def test_a_cron_expression_keeps_to_the_local_time_of_its_zone() -> None:
    nine = Cron("0 9 * * 1-5", "Europe/Berlin")
    assert next_due(nine, at("2026-01-02T08:00:00Z")) == at("2026-01-05T08:00:00Z")
    assert next_due(nine, at("2026-07-02T00:00:00Z")) == at("2026-07-02T07:00:00Z")
    assert next_due(Cron("0 9 * * *", "Asia/Kolkata"), at("2026-01-01T00:00:00Z")) == at("2026-01-01T03:30:00Z")


def test_what_is_due_exactly_now_is_due_again_only_later() -> None:
    assert next_due(Cron("0 * * * *"), at("2026-01-01T10:00:00Z")) == at("2026-01-01T11:00:00Z")


def test_an_hour_that_spring_skips_is_made_up_for_at_once() -> None:
    """In Berlin on 29 March 2026 the clock goes from 02:00 to 03:00."""
    due = following(Cron("30 2 * * *", "Europe/Berlin"), at("2026-03-28T12:00:00+01:00"), 2)
    assert due == [at("2026-03-29T01:00:00Z"), at("2026-03-30T02:30:00+02:00")]


def test_an_hour_that_autumn_repeats_is_due_once() -> None:
    """In Berlin on 25 October 2026 the clock goes from 03:00 back to 02:00."""
    due = following(Cron("30 2 * * *", "Europe/Berlin"), at("2026-10-24T12:00:00+02:00"), 2)
    assert [each.astimezone(BERLIN).strftime("%d %H:%M") for each in due] == ["25 02:30", "26 02:30"]


def test_every_quarter_of_an_hour_stays_so_when_the_clock_changes() -> None:
    for day in ("2026-03-29T00:00:00+01:00", "2026-10-25T00:00:00+02:00"):
        due = following(Cron("*/15 * * * *", "Europe/Berlin"), at(day), 24)
        assert {later - earlier for earlier, later in pairwise(due)} == {timedelta(minutes=15)}


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="without a time zone"):
        next_due(Interval(timedelta(minutes=5)), at("2026-01-01T00:00:00"))


moments = st.integers(1_577_836_800, 2_051_222_400).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
schedules = st.one_of(
    st.integers(1, 10**6).map(lambda seconds: Interval(timedelta(seconds=seconds))),
    st.builds(
        Cron,
        st.sampled_from(["* * * * *", "*/7 * * * *", "30 2 * * *", "0 0 1 * *", "15 14 * * 1-5", "0 0 29 2 *"]),
        st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]),
    ),
)


@settings(deadline=None)
@given(schedules, moments, st.floats(0, 1), st.floats(0, 1, exclude_max=True))
def test_what_is_due_next_is_always_ahead_and_jitter_only_delays_it(
    schedule: Schedule, after: datetime, jitter: float, chance: float
) -> None:
    due = next_due(schedule, after)
    assert due > after
    assert due.tzinfo is UTC
    spread = next_due(schedule, after, jitter=jitter, chance=chance)
    assert due <= spread <= due + (due - after) * jitter
