"""Checks of the status of a Pod: restarts, crashes, and a long Pending phase."""

from __future__ import annotations

from homeostat.objects.time.timestamp import TimestampError, parse_time
from homeostat.objects.views.pod import ContainerState, ContainerStatus, Pod
from homeostat.operators.policy.engine.check import CRASH_LOOP, HIGH_RESTARTS, OOM_KILLED, PENDING, Finding
from homeostat.operators.policy.engine.checks.base import Test
from homeostat.operators.policy.spec import PolicySpec

MOST_RESTART_UNITS = 5


def high_restarts(spec: PolicySpec) -> Test | None:
    """One violation a container, with a unit for each restart, five at most."""
    most = spec.max_restart_count
    if most is None:
        return None
    check = HIGH_RESTARTS.for_policy(spec)

    def test(pod: Pod, now: float) -> list[Finding]:  # noqa: ARG001
        return [
            Finding(check, each.name, f"{each.restart_count} restarts (threshold: {most})", _units(each))
            for each in pod.statuses
            if each.restart_count > most
        ]

    return test


def _units(status: ContainerStatus) -> int:
    return min(status.restart_count, MOST_RESTART_UNITS)


def pending(spec: PolicySpec) -> Test | None:
    """A Pod that has been Pending longer than the policy allows. A Pod of unknown age has no finding."""
    limit = spec.forbid_pending_duration
    if limit is None:
        return None
    found = [Finding(PENDING.for_policy(spec))]

    def test(pod: Pod, now: float) -> list[Finding]:
        if pod.phase != "Pending":
            return []
        if spec.pending_ignores_age:
            return found
        deadline = pending_deadline(pod, limit)
        return found if deadline is not None and deadline <= now else []

    return test


def pending_deadline(pod: Pod, limit_s: int) -> float | None:
    """When a Pod that stays Pending exceeds the limit; None if its age is unknown."""
    if pod.metadata.creation_timestamp is None:
        return None
    try:
        return parse_time(pod.metadata.creation_timestamp).timestamp() + limit_s
    except TimestampError:
        return None


def crash_loop(spec: PolicySpec) -> Test | None:
    if not spec.forbid_crash_loop:
        return None
    check = CRASH_LOOP.for_policy(spec)

    def test(pod: Pod, now: float) -> list[Finding]:  # noqa: ARG001
        return [Finding(check, each.name) for each in pod.statuses if _is_crash_looping(each)]

    return test


def _is_crash_looping(status: ContainerStatus) -> bool:
    waiting = None if status.state is None else status.state.waiting
    return waiting is not None and waiting.reason == "CrashLoopBackOff"


def oom_killed(spec: PolicySpec) -> Test | None:
    """A container that was OOM-killed now or before its last restart."""
    if not spec.forbid_oom_killed:
        return None
    check = OOM_KILLED.for_policy(spec)

    def test(pod: Pod, now: float) -> list[Finding]:  # noqa: ARG001
        return [Finding(check, each.name) for each in pod.statuses if _is_oom_killed(each.state, each.last_state)]

    return test


def _is_oom_killed(*states: ContainerState | None) -> bool:
    ends = (each.terminated for each in states if each is not None)
    return any(end is not None and end.reason == "OOMKilled" for end in ends)
