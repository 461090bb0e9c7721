"""When something that recurs is due next: after an interval, or by a cron expression in a time zone. Pure: the time
and the random number are passed in.

Cron keeps to the local time of its zone. A time in the hour that the clock skips in spring is due right after it;
a time in the hour that comes twice in autumn is due once.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec
from cronsim import CronSim, CronSimError

from homeostat.objects.time.cron import DESCRIPTORS, EVERY, FIELDS
from homeostat.objects.time.duration import DurationError, parse_duration

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


class ScheduleError(ValueError):
    """The text is no schedule: says what was expected."""


class Interval(msgspec.Struct, frozen=True):
    every: timedelta


class Cron(msgspec.Struct, frozen=True):
    """Five fields (minute, hour, day, month, weekday), in a time zone of the IANA database."""

    expression: str
    zone: str = "UTC"


Schedule = Interval | Cron


def parse_schedule(text: str, *, zone: str = "UTC") -> Schedule:
    """`5m`, `@every 5m`, `@daily`, or a cron expression; `ScheduleError` for anything else."""
    plain = text.strip()
    if plain.startswith(EVERY) or (plain and len(plain.split()) == 1 and not plain.startswith("@")):
        return _interval(plain.removeprefix(EVERY).strip(), text)
    cron = Cron(DESCRIPTORS.get(plain, plain), zone)
    _times(cron, _EPOCH, text)
    return cron


def next_due(schedule: Schedule, after: datetime, *, jitter: float = 0.0, chance: float = 0.0) -> datetime:
    """The first time that is due after this one, which must have a time zone; in UTC.

    `jitter` is the share of the time until then that may be added, so that what is due together is not done together;
    `chance` is uniform in [0, 1).
    """
    if after.tzinfo is None:
        raise ValueError("a time without a time zone says nothing about when it is")
    start = after.astimezone(UTC)
    if isinstance(schedule, Interval):
        due = start + schedule.every
    else:
        due = next(_times(schedule, start, schedule.expression)).astimezone(UTC)
    return due + (due - start) * jitter * chance


def _interval(text: str, whole: str) -> Interval:
    try:
        nanoseconds = parse_duration(text)
    except DurationError as error:
        raise ScheduleError(_expected(whole)) from error
    if nanoseconds < 1_000_000_000:
        raise ScheduleError(f"the interval {whole!r} is shorter than a second")
    try:
        return Interval(timedelta(microseconds=nanoseconds // 1000))
    except OverflowError as error:
        raise ScheduleError(_expected(whole)) from error


def _times(cron: Cron, start: datetime, text: str) -> CronSim:
    try:
        zone = ZoneInfo(cron.zone)
    except (KeyError, ValueError, OSError) as error:
        raise ScheduleError(f"there is no time zone {cron.zone!r}; name one as Europe/Berlin") from error
    if len(cron.expression.split()) != FIELDS:
        raise ScheduleError(_expected(text))
    try:
        return CronSim(cron.expression, start.astimezone(zone))
    except CronSimError as error:
        raise ScheduleError(f"{_expected(text)}: {error}") from error


def _expected(text: str) -> str:
    return (
        f"{text!r} is not a schedule; expected an interval such as 5m, five cron fields such as '*/5 * * * "
        f"*', or @daily"
    )
