"""The parts of timestamps, in UTC or another time zone, and of durations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from homeostat.cel.registry import Overload, member
from homeostat.cel.timestamps import SECOND, Timestamp, zone


def _part(read: Callable[[datetime], int]) -> Callable[..., int]:
    def part(moment: Timestamp, name: str | None = None) -> int:
        return read(moment.at(UTC if name is None else zone(name)))

    return part


_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
    "getMilliseconds": lambda moment: moment.microsecond // 1000,
}
_UNITS = {"getHours": 3600 * SECOND, "getMinutes": 60 * SECOND, "getSeconds": SECOND, "getMilliseconds": SECOND // 1000}


def _whole(nanoseconds: int, unit: int) -> int:
    """The number of whole units, cut towards zero."""
    return nanoseconds // unit if nanoseconds >= 0 else -(-nanoseconds // unit)


def _zone_cost(*_: object) -> int:
    """A name that is no time zone is looked for on disk each time."""
    return 200


TIMES: tuple[Overload, ...] = (
    *(member(f"timestamp.{name}() -> int", _part(read)) for name, read in _PARTS.items()),
    *(member(f"timestamp.{name}(string) -> int", _part(read), _zone_cost) for name, read in _PARTS.items()),
    *(
        member(f"duration.{name}() -> int", lambda length, unit=unit: _whole(length.nanoseconds, unit))
        for name, unit in _UNITS.items()
    ),
)
