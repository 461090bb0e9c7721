import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.duration import DurationError, format_duration, parse_duration

SECOND = 1_000_000_000
CASES = {
    "0": (0, "0s"),
    "0s": (0, "0s"),
    "5s": (5 * SECOND, "5s"),
    "1h30m": (5400 * SECOND, "1h30m0s"),
    "1.5h": (5400 * SECOND, "1h30m0s"),
    "90m": (5400 * SECOND, "1h30m0s"),
    "250ms": (SECOND // 4, "250ms"),
    "1500ms": (SECOND * 3 // 2, "1.5s"),
    "100us": (100_000, "100µs"),
    "1µs": (1_000, "1µs"),
    "3ns": (3, "3ns"),
    "-1m5s": (-65 * SECOND, "-1m5s"),
    "+1s": (SECOND, "1s"),
    ".5s": (SECOND // 2, "500ms"),
    "1.5s": (SECOND * 3 // 2, "1.5s"),
    "24h": (86400 * SECOND, "24h0m0s"),
}


@pytest.mark.parametrize(("text", "wanted"), CASES.items())
def test_durations_are_read_and_written_as_in_go(text: str, wanted: tuple[int, str]) -> None:
    assert (parse_duration(text), format_duration(parse_duration(text))) == wanted


@pytest.mark.parametrize("text", ["", "1", "s", "1d", "1 s", "-", ".s", "1h-1m", "300000h" * 10, "٣s"])
def test_what_is_not_a_duration_is_refused(text: str) -> None:
    with pytest.raises(DurationError):
        parse_duration(text)


@given(st.integers(-(2**62), 2**62))
def test_a_written_duration_reads_as_itself(nanoseconds: int) -> None:
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds
