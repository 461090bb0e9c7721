import pytest

from homeostat.objects.time.duration import DurationError, parse_duration, parse_seconds

SECOND = 1_000_000_000
CASES = {
    "0": 0,
    "0s": 0,
    "5s": 5 * SECOND,
    "1h30m": 5400 * SECOND,
    "1.5h": 5400 * SECOND,
    "90m": 5400 * SECOND,
    "250ms": SECOND // 4,
    "1500ms": SECOND * 3 // 2,
    "100us": 100_000,
    "1µs": 1_000,
    "3ns": 3,
    "-1m5s": -65 * SECOND,
    "+1s": SECOND,
    ".5s": SECOND // 2,
    "1.5s": SECOND * 3 // 2,
    "24h": 86400 * SECOND,
}


@pytest.mark.parametrize(("text", "wanted"), CASES.items())
def test_durations_are_read_as_in_go(text: str, wanted: int) -> None:
    assert parse_duration(text) == wanted


@pytest.mark.parametrize("text", ["", "1", "s", "1d", "1 s", "-", ".s", "1h-1m", "300000h" * 10, "٣s"])
def test_what_is_not_a_duration_is_refused(text: str) -> None:
    with pytest.raises(DurationError):
        parse_duration(text)


@pytest.mark.parametrize("text", ["1" * 60_000, "1" * 60_000 + "h", "1h" * 30_000, "1." * 30_000])
def test_a_very_long_duration_is_refused_at_once(text: str) -> None:
    with pytest.raises(DurationError, match="characters; the limit is 512") as refused:
        parse_duration(text)
    assert len(str(refused.value)) < 200


def test_a_long_number_without_a_unit_is_refused_in_linear_time() -> None:
    # Five hundred digits took seconds when each could belong to the whole number or to the fraction.
    with pytest.raises(DurationError):
        parse_duration("1" * 512)


def test_seconds_are_not_negative() -> None:
    assert [parse_seconds(each) for each in ("0", "250ms", "1m30s")] == [0.0, 0.25, 90.0]
    with pytest.raises(DurationError, match="not negative, got '-1s'"):
        parse_seconds("-1s")
