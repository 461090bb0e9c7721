"""Validates cron schedules, with the messages of Kubernetes.

Five fields (minute, hour, day of month, month, day of week) of `*`, `?`, numbers, names, ranges, steps and lists, or a
descriptor such as `@hourly` or `@every 1h30m`.
"""

from __future__ import annotations

import re

from homeostat.objects.time.cron import DESCRIPTORS, EVERY
from homeostat.objects.time.duration import DurationError, parse_duration

_MONTHS = {
    name: at + 1
    for at, name in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"])
}
_DAYS = {name: at for at, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_number = re.compile("[0-9]{1,9}").fullmatch


class ScheduleError(ValueError):
    """The text is not a cron schedule; the message says why."""


def check_schedule(schedule: str) -> None:
    """`ScheduleError` for what is not a schedule."""
    if schedule.startswith("@"):
        _check_descriptor(schedule)
        return
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        raise ScheduleError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    for text, (low, high, names) in zip(fields, _FIELDS, strict=True):
        for part in text.split(","):
            _check_part(part, low, high, names)


def _check_descriptor(schedule: str) -> None:
    if schedule in DESCRIPTORS:
        return
    if not schedule.startswith(EVERY):
        raise ScheduleError(f"unrecognized descriptor: {schedule}")
    try:
        parse_duration(schedule.removeprefix(EVERY))
    except DurationError as error:
        raise ScheduleError(f"failed to parse duration {schedule}: {error}") from error


def _check_part(part: str, low: int, high: int, names: dict[str, int]) -> None:
    span, slash, step_text = part.partition("/")
    first, dash, last = span.partition("-")
    if "/" in step_text:
        raise ScheduleError(f"too many slashes: {part}")
    if "-" in last:
        raise ScheduleError(f"too many hyphens: {part}")
    if first in ("*", "?"):
        start, end = low, high
    else:
        start = _value(first, names)
        end = _value(last, names) if dash else high if slash else start
    if slash and _value(step_text, {}) == 0:
        raise ScheduleError(f"step of range should be a positive number: {part}")
    if start < low:
        raise ScheduleError(f"beginning of range ({start}) below minimum ({low}): {part}")
    if end > high:
        raise ScheduleError(f"end of range ({end}) above maximum ({high}): {part}")
    if start > end:
        raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {part}")


def _value(text: str, names: dict[str, int]) -> int:
    if (named := names.get(text.lower())) is not None:
        return named
    if not _number(text):
        raise ScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    return int(text)
