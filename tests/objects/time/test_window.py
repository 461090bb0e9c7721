from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.time.window import WindowError, frozen_until, opens_at, parse_windows


def _until(windows: str, now: str) -> str:
    found = frozen_until(parse_windows(windows), datetime.fromisoformat(now).replace(tzinfo=UTC))
    return found.strftime("%Y-%m-%d %H:%M") if found else ""


@pytest.mark.parametrize(
    ("windows", "now", "until"),
    [
        # 2026-11-13 is a Friday.
        ("Fri 16:00-Mon 08:00", "2026-11-13 15:59", ""),
        ("Fri 16:00-Mon 08:00", "2026-11-13 16:00", "2026-11-16 08:00"),
        ("Fri 16:00-Mon 08:00", "2026-11-15 23:30", "2026-11-16 08:00"),
        ("Fri 16:00-Mon 08:00", "2026-11-16 08:00", ""),
        ("Fri 16:00-Mon 08:00 Europe/Berlin", "2026-11-13 15:00", "2026-11-16 07:00"),
        ("daily 22:00-06:00", "2026-11-13 23:00", "2026-11-14 06:00"),
        ("daily 22:00-06:00", "2026-11-13 05:59", "2026-11-13 06:00"),
        ("daily 22:00-06:00", "2026-11-13 12:00", ""),
        ("daily 00:00-00:00", "2026-11-13 12:00", "2026-11-14 00:00"),
        ("2026-12-20..2027-01-03", "2027-01-03 23:59", "2027-01-04 00:00"),
        ("2026-12-20..2027-01-03", "2026-12-19 23:59", ""),
        ("2026-12-20..2027-01-03 Europe/Berlin", "2026-12-19 23:00", "2027-01-03 23:00"),
        ("daily 10:00-11:00; Fri 10:30-Fri 12:00", "2026-11-13 10:45", "2026-11-13 12:00"),
        # The clock goes back in the night to 2026-10-25, so that night has an hour more.
        ("Sat 20:00-Sun 08:00 Europe/Berlin", "2026-10-24 19:00", "2026-10-25 07:00"),
        ("", "2026-11-13 10:45", ""),
    ],
)
def test_a_window_is_frozen_until_its_end(windows: str, now: str, until: str) -> None:
    assert _until(windows, now) == until


@pytest.mark.parametrize(
    "text",
    ["always", "Fri 25:00-Sat 08:00", "Abc 10:00-Sat 08:00", "2026-02-30..2026-03-01", "2026-03-02..2026-03-01",
     "Fri 16:00-Mon 08:00 Nowhere/City", "Fri 16:00-Mon 08:00 A" + "/b" * 500, "daily 1-2",
     ";".join(["daily 00:00-01:00"] * 40)],
)  # fmt: skip
def test_what_is_no_window_is_rejected(text: str) -> None:
    with pytest.raises(WindowError):
        parse_windows(text)


_CLOCK = st.tuples(st.integers(0, 23), st.integers(0, 59)).map(lambda each: f"{each[0]:02}:{each[1]:02}")
_DAY = st.sampled_from(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])


@given(_DAY, _CLOCK, _DAY, _CLOCK, st.integers(0, 366 * 24 * 60))
def test_right_after_its_end_a_window_is_open(day: str, start: str, last: str, end: str, minute: int) -> None:
    if (day, start) == (last, end):
        return
    windows, now = parse_windows(f"{day} {start}-{last} {end}"), datetime(2026, 1, 1, tzinfo=UTC)
    now += timedelta(minutes=minute)
    until = frozen_until(windows, now)
    if until is not None:
        assert now < until <= now + timedelta(days=7)
        assert frozen_until(windows, until) is None
        assert frozen_until(windows, until - timedelta(minutes=1)) == until


def test_a_window_begins_at_its_next_start() -> None:
    now = datetime(2026, 3, 4, 12, 30, 10, tzinfo=UTC)
    for text, expected in (
        ("daily 22:00-06:00", datetime(2026, 3, 4, 22, tzinfo=UTC)),
        ("daily 08:00-10:00 Europe/Berlin", datetime(2026, 3, 5, 7, tzinfo=UTC)),
        ("Fri 16:00-Mon 08:00; Thu 10:00-Thu 11:00", datetime(2026, 3, 5, 10, tzinfo=UTC)),
        ("2026-03-10..2026-03-12", datetime(2026, 3, 10, tzinfo=UTC)),
    ):
        assert opens_at(parse_windows(text), now) == expected
    assert opens_at(parse_windows("2026-01-01..2026-01-02"), now) is None
