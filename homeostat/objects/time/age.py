"""The age of an object, as kubectl prints it: `5s`, `2m30s`, `3h25m`, `4d`, `2y10d`.

The text is that of kubectl's AGE column. The caller passes the time in seconds since 1970: nothing here reads a clock.
`Since` is a table cell whose text changes while its object does not.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

UNKNOWN = "<unknown>"
INVALID = "<invalid>"

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY


def human_duration(seconds: float) -> str:
    """Two or three significant figures. A time up to two seconds in the future counts as now."""
    return _human(int(seconds))


@lru_cache(maxsize=16384)
def _human(seconds: int) -> str:
    if seconds < 0:
        return "0s" if seconds == -1 else INVALID
    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    if seconds < 10 * _MINUTE:
        return _two(seconds // _MINUTE, "m", seconds % _MINUTE, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _two(seconds // _HOUR, "h", seconds % _HOUR // _MINUTE, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return _two(seconds // _DAY, "d", seconds % _DAY // _HOUR, "h")
    if seconds < 2 * _YEAR:
        return f"{seconds // _DAY}d"
    if seconds < 8 * _YEAR:
        return _two(seconds // _YEAR, "y", seconds % _YEAR // _DAY, "d")
    return f"{seconds // _YEAR}y"


def _two(whole: int, unit: str, rest: int, smaller: str) -> str:
    return f"{whole}{unit}{rest}{smaller}" if rest else f"{whole}{unit}"


def epoch_of(timestamp: object) -> float | None:
    """Seconds since 1970 of an RFC 3339 timestamp; None for anything else."""
    if not isinstance(timestamp, str) or len(timestamp) < 20 or timestamp[10] not in "Tt":
        return None
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


class Since(NamedTuple):
    """The text `before` + how long ago `at` was + `after`."""

    at: float
    before: str = ""
    after: str = ""

    def text(self, now: float) -> str:
        return f"{self.before}{human_duration(now - self.at)}{self.after}"


def since(timestamp: object) -> Since | str:
    """The table cell of a timestamp: its age, or `<unknown>` without a timestamp."""
    at = epoch_of(timestamp)
    return UNKNOWN if at is None else Since(at)
