"""Timestamps and durations with nanoseconds, which Python's own types do not have.

Both are counts of nanoseconds. A timestamp lies in the years 1 to 9999; a duration fits 64 bits, as Go's does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from homeostat.cel.errors import EvaluationError, shown
from homeostat.cel.values import INT_MAX, INT_MIN

SECOND: Final = 1_000_000_000
_LONGEST_TEXT = 512
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_DURATION = re.compile(r"[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+\Z", re.ASCII)
_DURATION_PART = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_TIMESTAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:Z|([-+])(\d\d):(\d\d))\Z", re.ASCII)
_ZONE = re.compile(r"[A-Za-z0-9_+/-]{1,64}\Z", re.ASCII)
_OFFSET = re.compile(r"([-+]?)(\d\d):(\d\d)\Z", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """An instant, as nanoseconds since 1970 UTC."""

    nanoseconds: int
    cel_type_name = "google.protobuf.Timestamp"

    def at(self, zone: tzinfo = UTC) -> datetime:
        """The same instant on a calendar, to the microsecond."""
        return (_EPOCH + timedelta(microseconds=self.nanoseconds // 1000)).astimezone(zone)

    def __str__(self) -> str:
        whole, fraction = divmod(self.nanoseconds, SECOND)
        moment = _EPOCH + timedelta(seconds=whole)
        return f"{moment.year:04}-{moment:%m-%dT%H:%M:%S}{_fraction(fraction)}Z"


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    nanoseconds: int
    cel_type_name = "google.protobuf.Duration"

    def __str__(self) -> str:
        sign = "-" if self.nanoseconds < 0 else ""
        whole, fraction = divmod(abs(self.nanoseconds), SECOND)
        return f"{sign}{whole}{_fraction(fraction)}s"


def _fraction(nanoseconds: int) -> str:
    return f".{nanoseconds:09}".rstrip("0") if nanoseconds else ""


def timestamp_of(nanoseconds: int) -> Timestamp:
    if _FIRST_SECOND * SECOND <= nanoseconds < (_LAST_SECOND + 1) * SECOND:
        return Timestamp(nanoseconds)
    raise EvaluationError("timestamp overflow")


def duration_of(nanoseconds: int) -> Duration:
    if INT_MIN <= nanoseconds <= INT_MAX:
        return Duration(nanoseconds)
    raise EvaluationError("duration overflow")


def parse_timestamp(text: str) -> Timestamp:
    """The instant of an RFC 3339 text."""
    found = _TIMESTAMP.match(text) if len(text) <= _LONGEST_TEXT else None
    if found is None:
        raise EvaluationError(f'invalid timestamp "{text[:_LONGEST_TEXT]}": expected RFC 3339')
    year, month, day, hour, minute, second = (int(each) for each in found.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as error:
        raise EvaluationError(f'invalid timestamp "{text}": {error}') from None
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    if found[8]:
        offset = int(found[9]) * 3600 + int(found[10]) * 60
        if int(found[9]) > 23 or int(found[10]) > 59:
            raise EvaluationError(f'invalid timestamp "{text}": offset out of range')
        seconds -= offset if found[8] == "+" else -offset
    return timestamp_of(seconds * SECOND + int((found[7] or "0")[:9].ljust(9, "0")))


def parse_duration(text: str) -> Duration:
    """The length of a text as Go writes them: `1h30m`, `-1.5s`, `0`."""
    if text in ("0", "+0", "-0"):
        return Duration(0)
    if len(text) > _LONGEST_TEXT or not _DURATION.match(text):
        raise EvaluationError(f'invalid duration "{text[:_LONGEST_TEXT]}"')
    total = 0
    for whole, fraction, unit in _DURATION_PART.findall(text):
        scale = _UNITS[unit]
        total += int(whole or "0") * scale
        if fraction:
            total += int(fraction[:18]) * scale // 10 ** len(fraction[:18])
    return duration_of(-total if text[0] == "-" else total)


@lru_cache(maxsize=256)
def zone(name: str) -> tzinfo:
    """A time zone by its IANA name or as an offset, `+05:30`."""
    if found := _OFFSET.match(name):
        offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
        if offset < timedelta(hours=24):
            return timezone(-offset if found[1] == "-" else offset)
    if not _ZONE.match(name):
        raise EvaluationError(f"unknown time zone {shown(name)}")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise EvaluationError(f"unknown time zone {shown(name)}") from None
