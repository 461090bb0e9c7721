"""The state of a SyncPolicy, a repository or a server in one word, and when a policy is synced next. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from homeostat.objects.conditions import READY, find
from homeostat.objects.declared import Declared, readable_status
from homeostat.objects.time.duration import DurationError, parse_duration
from homeostat.objects.time.timestamp import TimestampError, format_time, parse_time
from homeostat.operators.sync.api.policy import REQUESTED, PolicySpec, PolicyStatus, SyncPolicy
from homeostat.operators.sync.conditions import SUSPENDED
from homeostat.operators.sync.validation.cron import CronError, next_time
from homeostat.web.dashboard.html.components import chip
from homeostat.web.dashboard.html.markup import Markup

STATES: Final = ("failed", "held", "drifted", "syncing", "pending", "suspended", "synced")
"""The worst first, as lists are ordered."""
LOOKS: Final = {
    "failed": "bad",
    "not ready": "bad",
    "held": "warn",
    "drifted": "warn",
    "syncing": "phase-reconciling",
    "pending": "phase-pending",
    "suspended": "phase-deleting",
    "synced": "good",
    "ready": "good",
}


class Next(NamedTuple):
    """`time` is empty if nothing is due by time."""

    time: str
    why: str


class PolicyRow(NamedTuple):
    policy: SyncPolicy
    status: PolicyStatus
    state: str


def row_of(policy: SyncPolicy) -> PolicyRow:
    try:
        status = policy.read_status(PolicyStatus)
    except msgspec.ValidationError:
        # On a cluster, another program may write a status of another form.
        return PolicyRow(policy, PolicyStatus(), "pending")
    return PolicyRow(policy, status, _state(policy.spec, status))


def settled_state(row: PolicyRow) -> str:
    """What the last sync left, also while the next one runs."""
    return _state(row.policy.spec, row.status, is_settled=True)


def _state(spec: PolicySpec, status: PolicyStatus, *, is_settled: bool = False) -> str:
    ready = find(status.conditions, READY)
    if spec.suspend:
        return "suspended"
    if status.attempt is not None and not is_settled:
        return "syncing"
    if ready is None or ready.reason == SUSPENDED:
        return "pending"
    if ready.reason == "ChangesHeld":
        return "held"
    if ready.status != "True":
        return "failed" if ready.status == "False" else "pending"
    return "drifted" if status.drifted else "synced"


def order_of(row: PolicyRow) -> tuple[int, str, str]:
    return STATES.index(row.state), row.policy.metadata.namespace, row.policy.metadata.name


def state_chip(state: str) -> Markup:
    return chip(state, LOOKS.get(state, "plain"))


def readiness_of(obj: Declared) -> str:
    """Of a repository or a server."""
    ready = find(read_conditions(obj).conditions, READY)
    if ready is None or ready.status == "Unknown":
        return "pending"
    return "ready" if ready.status == "True" else "not ready"


def message_of(obj: Declared) -> str:
    """Of its Ready condition."""
    ready = find(read_conditions(obj).conditions, READY)
    return ready.message if ready is not None else ""


def read_conditions(obj: Declared) -> PolicyStatus:
    """The conditions are the same in all kinds of the group."""
    return readable_status(obj, PolicyStatus)


def next_run(row: PolicyRow, now: datetime) -> Next:
    """When the policy is synced next and why, if nothing that it depends on changes before."""
    policy, status = row.policy, row.status
    if policy.spec.suspend:
        return Next("", "suspended")
    if status.attempt is not None:
        return Next("", f"running: {status.attempt.trigger}")
    if policy.metadata.annotations.get(REQUESTED, "") != (status.last_handled_request or ""):
        return Next("", "requested")
    if status.failure is not None:
        return _due(status.failure.retry_time, f"retry {status.failure.count} of a failed sync", now)
    try:
        last = parse_time(status.last_full_resync_time) if status.last_full_resync_time else None
        if last is None:
            return Next("", "as soon as its dependencies are ready")
        due = [(last + timedelta(microseconds=parse_duration(policy.spec.sync_interval) // 1000), "interval")]
        if policy.spec.full_resync_cron:
            due.append((next_time(policy.spec.full_resync_cron, last), "cron"))
    except (TimestampError, DurationError, CronError):
        return Next("", "the spec is invalid")
    time, why = min(due)
    return _due(format_time(time), why, now)


def _due(time: str, why: str, now: datetime) -> Next:
    try:
        return Next(time, why) if parse_time(time) > now else Next("", f"now: {why}")
    except TimestampError:
        return Next("", why)
