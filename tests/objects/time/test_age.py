"""Ages read as kubectl prints them."""

from __future__ import annotations

import pytest

from homeostat.objects.time.age import Since, epoch_of, human_duration, since

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (-0.5, "0s"),
        (0, "0s"),
        (1.99, "1s"),
        (59, "59s"),
        (119, "119s"),
        (120, "2m"),
        (150, "2m30s"),
        (10 * _MINUTE - 1, "9m59s"),
        (10 * _MINUTE, "10m"),
        (3 * _HOUR - 1, "179m"),
        (3 * _HOUR, "3h"),
        (3 * _HOUR + 25 * _MINUTE + 59, "3h25m"),
        (8 * _HOUR, "8h"),
        (47 * _HOUR, "47h"),
        (2 * _DAY, "2d"),
        (2 * _DAY + _HOUR, "2d1h"),
        (8 * _DAY - 1, "7d23h"),
        (8 * _DAY, "8d"),
        (2 * _YEAR - 1, "729d"),
        (2 * _YEAR, "2y"),
        (2 * _YEAR + 10 * _DAY, "2y10d"),
        (8 * _YEAR, "8y"),
        (20 * _YEAR + 100 * _DAY, "20y"),
    ],
)
def test_a_duration_has_two_or_three_figures(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


@pytest.mark.parametrize(
    ("timestamp", "epoch"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("2026-01-02T03:04:05Z", 1767323045.0),
        ("2026-01-02T03:04:05.500000Z", 1767323045.5),
        ("2026-01-02T04:04:05+01:00", 1767323045.0),
    ],
)
def test_a_timestamp_is_seconds_since_1970(timestamp: str, epoch: float) -> None:
    assert epoch_of(timestamp) == epoch


@pytest.mark.parametrize("value", [None, "", "yesterday", "2026-01-02", "2026-13-02T03:04:05Z", 7, {}, []])
def test_what_is_no_timestamp_has_no_age(value: object) -> None:
    assert epoch_of(value) is None
    assert since(value) == "<unknown>"


def test_an_age_stands_between_its_words() -> None:
    assert Since(100.0, "3 (", " ago)").text(400.0) == "3 (5m ago)"
