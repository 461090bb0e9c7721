"""Go's durations, `1h30m` or `250ms`, as whole nanoseconds."""

from __future__ import annotations

import re

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_LONGEST = 2**63 - 1
_MOST_CHARACTERS = 512
_whole = re.compile(r"([+-]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII).fullmatch
_pieces = re.compile(r"([\d.]+)([^\d.]+)", re.ASCII).findall


class DurationError(ValueError):
    """The text is not a duration."""


def parse_duration(text: str) -> int:
    """Nanoseconds; `DurationError` for what Go's time.ParseDuration refuses."""
    if text in ("0", "+0", "-0"):
        return 0
    if len(text) > _MOST_CHARACTERS:
        raise DurationError(
            f"time: invalid duration {text[:32]!r}...: it has {len(text)} characters; the limit is {_MOST_CHARACTERS}"
        )
    found = _whole(text)
    if found is None:
        raise DurationError(f"time: invalid duration {text!r}")
    total = sum(_nanoseconds(number, _UNITS[unit]) for number, unit in _pieces(found[2]))
    if total > _LONGEST:
        raise DurationError(f"time: invalid duration {text!r}: it is longer than 290 years")
    return -total if found[1] == "-" else total


def parse_seconds(text: str) -> float:
    """`DurationError` also for a negative duration."""
    nanoseconds = parse_duration(text)
    if nanoseconds < 0:
        raise DurationError(f"a duration is not negative, got {text!r}")
    return nanoseconds / 1_000_000_000


def _nanoseconds(number: str, unit: int) -> int:
    """Whole ones; the rest is dropped."""
    whole, _, part = number.partition(".")
    scale: int = 10 ** len(part)
    return int(whole + part) * unit // scale
