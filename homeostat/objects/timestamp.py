"""Points in time as Kubernetes writes them: RFC 3339, in UTC, in whole seconds or in microseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_shape = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
).fullmatch


class TimestampError(ValueError):
    """The text is not a point in time."""


def parse_time(text: str) -> datetime:
    """Always in UTC; digits after the sixth are dropped."""
    found = _shape(text)
    if found is None:
        raise TimestampError(f"{text!r} is not a time as in RFC 3339: 2006-01-02T15:04:05Z")
    day, clock, fraction, sign, hours, minutes = found.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}").replace(microsecond=int((fraction or "0")[:6].ljust(6, "0")))
        if sign is None:
            return moment.replace(tzinfo=UTC)
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        return moment.replace(tzinfo=timezone(-offset if sign == "-" else offset)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise TimestampError(f"{text!r} is not a time: {error}") from error


def format_time(moment: datetime) -> str:
    """`metav1.Time`: whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def format_micro_time(moment: datetime) -> str:
    """`metav1.MicroTime`: always six digits, for leases and events."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
