"""`fullResyncCron`: five numeric fields in UTC. Pure.

If both the day of the month and the weekday are restricted, either may match. 7 is Sunday, too. Names of months and
weekdays are not accepted, as in the original.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from cronsim import CronSim, CronSimError

_numeric = re.compile(r"[\d*,/-]+", re.ASCII).fullmatch


class CronError(ValueError):
    """The text is not five cron fields."""


def check_cron(text: str) -> None:
    next_time(text, datetime(2000, 1, 1, tzinfo=UTC))


def next_time(text: str, after: datetime) -> datetime:
    fields = text.split()
    if len(fields) != 5 or not all(map(_numeric, fields)):
        raise CronError(f'"{text}" is not a cron expression; expected five numeric fields such as "0 3 * * *"')
    try:
        return next(CronSim(text, after.astimezone(UTC)))
    except (CronSimError, StopIteration) as error:
        raise CronError(f'"{text}" is not a cron expression; expected five numeric fields: {error}') from error


def is_cron_due(text: str, last: datetime | None, now: datetime) -> bool:
    """One that never ran is due."""
    return last is None or now >= next_time(text, last)
