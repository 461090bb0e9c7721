"""Cron schedules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.server.kinds.builtins.checks.schedule import ScheduleError, check_schedule


@pytest.mark.parametrize(
    "schedule",
    [
        "* * * * *",
        "*/5 0-6/2 1,15 JAN-mar mon",
        "0 0 ? * 0",
        "5/15 * * * *",
        "@hourly",
        "@yearly",
        "@every 1h30m",
        "  0 12 * *  sun ",
    ],
)
def test_what_cron_understands_is_accepted(schedule: str) -> None:
    check_schedule(schedule)


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ("", "expected exactly 5 fields, found 0: []"),
        ("* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("*/2/3 * * * *", "too many slashes: */2/3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("@never", "unrecognized descriptor: @never"),
        ("@every day", "failed to parse duration @every day: "),
    ],
)
def test_what_cron_does_not_understand_is_explained(schedule: str, said: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        check_schedule(schedule)
    assert str(refused.value).startswith(said)


@given(st.text(alphabet="0123456789*/-,? @evry", max_size=20))
def test_any_text_is_accepted_or_refused(text: str) -> None:
    try:
        check_schedule(text)
    except ScheduleError:
        return
