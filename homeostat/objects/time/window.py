"""Windows of time: every week, every day, or for some days. Pure: the time is passed in.

    Fri 16:00-Mon 08:00 Europe/Berlin        every week
    daily 22:00-06:00                        every day
    2026-12-20..2027-01-03 Europe/Berlin     whole days, the last one included

Several are separated by semicolons; without a time zone, a window is in UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEK_MINUTES: Final = 7 * 24 * 60
_DAY_MINUTES: Final = 24 * 60
_MOST: Final = 32
_LONGEST_ZONE: Final = 64
"""The library imports a package for each part of a name; 400 parts are too deep for it."""
_CLOCK: Final = r"([01]?\d|2[0-3]):([0-5]\d)"
_weekly = re.compile(rf"([a-z]{{3}}) {_CLOCK} ?- ?([a-z]{{3}}) {_CLOCK}", re.ASCII).fullmatch
_daily = re.compile(rf"daily {_CLOCK} ?- ?{_CLOCK}", re.ASCII).fullmatch
_dates = re.compile(r"(\d{4}-\d\d-\d\d) ?\.\. ?(\d{4}-\d\d-\d\d)", re.ASCII).fullmatch


class WindowError(ValueError):
    """The text is not a list of windows."""


class Weekly(msgspec.Struct, frozen=True):
    """From and to are minutes since Monday; a window may pass the end of the week."""

    start: int
    end: int
    zone: str = "UTC"
    period: int = _WEEK_MINUTES


class Dates(msgspec.Struct, frozen=True):
    first: date
    last: date
    zone: str = "UTC"


Window = Weekly | Dates


def parse_windows(text: str) -> tuple[Window, ...]:
    parts = [each.strip() for each in text.split(";") if each.strip()]
    if len(parts) > _MOST:
        raise WindowError(f"there are {len(parts)} windows; at most {_MOST} are read")
    return tuple(_window(each) for each in parts)


def frozen_until(windows: tuple[Window, ...], now: datetime) -> datetime | None:
    """When the last of the windows around this time ends, in UTC; None if there is none."""
    ends = [end for each in windows if (end := _end(each, now)) is not None]
    return max(ends, default=None)


def _window(text: str) -> Window:
    words = text.split()
    zone = words.pop() if len(words) > 1 and ("/" in words[-1] or words[-1] in ("UTC", "GMT")) else "UTC"
    _zone(zone)
    plain = " ".join(words)
    if found := _weekly(plain.lower()):
        start, end = _minute(found[1], found[2], found[3], text), _minute(found[4], found[5], found[6], text)
        return Weekly(start, end, zone)
    if found := _daily(plain.lower()):
        minutes = (int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4]))
        return Weekly(*minutes, zone, _DAY_MINUTES)
    if found := _dates(plain):
        try:
            first, last = date.fromisoformat(found[1]), date.fromisoformat(found[2])
        except ValueError as error:
            raise WindowError(f"{text!r} has no such day") from error
        if last < first:
            raise WindowError(f"{text!r} ends before it begins")
        return Dates(first, last, zone)
    raise WindowError(
        f"{text[:100]!r} is not a window; expected Fri 16:00-Mon 08:00, daily 22:00-06:00 or 2026-12-20..2027-01-03, "
        "with a time zone such as Europe/Berlin behind it"
    )


def _minute(day: str, hour: str, minute: str, text: str) -> int:
    if day not in _DAYS:
        raise WindowError(f"{text[:100]!r}: there is no day {day!r}; expected one of {', '.join(_DAYS)}")
    return _DAYS.index(day) * _DAY_MINUTES + int(hour) * 60 + int(minute)


def _zone(name: str) -> ZoneInfo:
    unknown = f"there is no time zone {name[:_LONGEST_ZONE]!r}; name one as Europe/Berlin"
    if len(name) > _LONGEST_ZONE:
        raise WindowError(unknown)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise WindowError(unknown) from error


def _end(window: Window, now: datetime) -> datetime | None:
    zone = _zone(window.zone)
    local = now.astimezone(zone)
    match window:
        case Dates(first, last):
            if not first <= local.date() <= last:
                return None
            return datetime.combine(last + timedelta(days=1), time(), zone).astimezone(UTC)
        case Weekly(start, end, _, period):
            at = local.weekday() * _DAY_MINUTES + local.hour * 60 + local.minute
            length, since = (end - start) % period or period, (at - start) % period
            if since >= length:
                return None
            # By the local clock, so that a window ends at its hour also where the clock changes within it.
            over = local.replace(second=0, microsecond=0, tzinfo=None) + timedelta(minutes=length - since)
            return over.replace(tzinfo=zone).astimezone(UTC)


def opens_at(windows: tuple[Window, ...], now: datetime) -> datetime | None:
    """When the first of the windows begins after this time, in UTC; None if none does."""
    starts = [start for each in windows if (start := _start(each, now)) is not None]
    return min(starts, default=None)


def _start(window: Window, now: datetime) -> datetime | None:
    zone = _zone(window.zone)
    local = now.astimezone(zone)
    match window:
        case Dates(first):
            return datetime.combine(first, time(), zone).astimezone(UTC) if local.date() < first else None
        case Weekly(start, _, _, period):
            at = local.weekday() * _DAY_MINUTES + local.hour * 60 + local.minute
            left = (start - at) % period or period
            begin = local.replace(second=0, microsecond=0, tzinfo=None) + timedelta(minutes=left)
            return begin.replace(tzinfo=zone).astimezone(UTC)
