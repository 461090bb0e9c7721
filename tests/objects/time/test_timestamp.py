from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.time.timestamp import TimestampError, format_micro_time, format_time, parse_time

CASES = {
    "2024-02-29T12:30:45Z": datetime(2024, 2, 29, 12, 30, 45, tzinfo=UTC),
    "2024-02-29t12:30:45z": datetime(2024, 2, 29, 12, 30, 45, tzinfo=UTC),
    "2024-02-29T12:30:45.5Z": datetime(2024, 2, 29, 12, 30, 45, 500_000, tzinfo=UTC),
    "2024-02-29T12:30:45.123456789Z": datetime(2024, 2, 29, 12, 30, 45, 123_456, tzinfo=UTC),
    "2024-02-29T12:30:45+02:00": datetime(2024, 2, 29, 10, 30, 45, tzinfo=UTC),
    "2024-02-29T22:30:45-02:30": datetime(2024, 3, 1, 1, 0, 45, tzinfo=UTC),
}


@pytest.mark.parametrize(("text", "moment"), CASES.items())
def test_times_are_read(text: str, moment: datetime) -> None:
    assert parse_time(text) == moment
    assert parse_time(text).tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        *("", "2024-02-30T00:00:00Z", "2024-02-29", "2024-02-29 00:00:00Z", "2024-02-29T00:00:00"),
        *("2024-02-29T24:00:00Z", "2024-02-29T00:00Z", "2024-02-29T00:00:00.Z", "2024-W01-1T00:00:00Z"),
        "0001-01-01T00:00:00+23:00",
    ],
)
def test_what_is_not_a_time_is_refused(text: str) -> None:
    with pytest.raises(TimestampError):
        parse_time(text)


def test_times_are_written_in_utc() -> None:
    moment = datetime(2024, 2, 29, 12, 30, 45, 678, tzinfo=timezone(timedelta(hours=2)))
    assert format_time(moment) == "2024-02-29T10:30:45Z"
    assert format_micro_time(moment) == "2024-02-29T10:30:45.000678Z"


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_written_time_reads_as_itself(moment: datetime) -> None:
    assert parse_time(format_micro_time(moment)) == moment
    assert parse_time(format_time(moment)) == moment.replace(microsecond=0)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-16T06:47:46,250001Z",
        "2026-11-16T06:47:46:250001Z",
        "2026-11-16T24:00:00Z",
        "2026-W01-1T10:00:00Z",
        "2026-+1-16T06:47:46Z",
        "2026-11-16T06:47:46+05:00:0Z",
        "2026-02-29T00:00:00Z",
    ],
)
def test_what_looks_like_our_own_times_and_is_none_is_refused(text: str) -> None:
    with pytest.raises(TimestampError):
        parse_time(text)
