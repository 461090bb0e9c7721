"""When a resource is due, and why: one rule for all resources. Pure.

A resource is due when its declaration differs from the last attempted one, when a reconciliation is requested, and when
the time of its next run has come. After each failure the next run is later, whether or not the resource was ever ready;
a new declaration does not wait for it. The jitter goes in both directions and retries are counted in the status, so
`objects/time/backoff.py` does not fit here.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import msgspec

from homeostat.objects.time.timestamp import format_micro_time, parse_time
from homeostat.operators.actions.api import ResourceStatus
from homeostat.operators.actions.runs.run import Trigger

_MOST_DOUBLINGS = 10
_TICK_US = 100_000
_SOONEST_S, LATEST_S = 1.0, 366 * 86_400.0


class Delays(msgspec.Struct, frozen=True):
    """How long a failed resource waits: twice as long each time, up to a maximum, with jitter as a share of it."""

    base_s: float = 60.0
    max_s: float = 3600.0
    jitter: float = 0.1


def trigger_of(
    status: ResourceStatus, *, digest: str, requested: str, is_terminating: bool, now: datetime
) -> Trigger | None:
    """Returns why the resource is due now; None if it is not due."""
    is_asked_for = bool(requested) and requested != status.handled_request
    if is_terminating:
        is_due = status.phase != "deleting" or is_asked_for or is_past(status.next_run, now)
        return "deletion" if is_due else None
    if not status.attempted_digest:
        return "initial"
    if status.attempted_digest != digest:
        return "spec_change"
    if is_asked_for:
        return "manual"
    if not is_past(status.next_run, now):
        return None
    return "retry" if status.phase == "failed" else "scheduled"


def retry_delay_s(delays: Delays, retries: int, chance: float) -> float:
    """Returns the wait after a failure that `retries` other failures precede; `chance` is uniform in [0, 1)."""
    full = min(delays.base_s * (1 << min(retries, _MOST_DOUBLINGS)), delays.max_s)
    return full * (1 + delays.jitter * (2 * chance - 1))


def is_past(moment: str | None, now: datetime) -> bool:
    return moment is None or parse_time(moment) <= now


def wait_until(moment: str | None, now: datetime) -> timedelta:
    """Returns how long to wait: at least a millisecond."""
    ahead = parse_time(moment) - now if moment is not None else timedelta()
    return max(ahead, timedelta(milliseconds=1))


def after(now: datetime, seconds: float) -> str:
    """Rounds up to tenths of a second: resources that are due at about the same time run together and share commits,
    and those that ran together do not stay together for ever.
    """
    moment = now + timedelta(seconds=seconds)
    return format_micro_time(moment + timedelta(microseconds=-moment.microsecond % _TICK_US))


def requested_delay_s(seconds: float | None, usual_s: float) -> float:
    """Returns the delay that a plugin asks for, within limits; `usual_s` if it asks for none."""
    if seconds is None or math.isnan(seconds):
        return usual_s
    return min(max(seconds, _SOONEST_S), LATEST_S)
