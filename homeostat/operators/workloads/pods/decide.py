"""What a Pod shows after some time on its Node, and when that changes next. Pure.

The default back-off of a failing container is kubelet's: the first restart is immediate, then 10 s, doubling to 300 s.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from homeostat.operators.workloads.api import Pod
from homeostat.operators.workloads.availability import time_of
from homeostat.operators.workloads.pods.rules import Fate
from homeostat.operators.workloads.pods.status import Picture

SHORT_S: Final = 0.5
"""A Pod that gets ready sooner shows nothing in between, which saves a write."""
_LONGEST_BACK_OFF: Final = 30
_SHORTEST_BACK_OFF_S: Final = 0.1
_MOST_RESTARTS: Final = 2**31 - 1
_PULL_PERIOD_S: Final = 1.0
_KILLED: Final = 137


class Decision(msgspec.Struct, frozen=True):
    picture: Picture | None = None
    """None: nothing is shown yet."""
    again_s: float | None = None


def decide(pod: Pod, fate: Fate, elapsed_s: float) -> Decision:
    """`elapsed_s` since the Pod was first seen on its Node with this fate."""
    left_s = fate.after_s - elapsed_s
    match fate.outcome:
        case "pending":
            return Decision(Picture("waiting", "ContainerCreating", ""))
        case "image-pull-error":
            return _pulling(pod, elapsed_s)
        case "never-ready":
            return Decision(Picture("running", restarts=pod.most_restarts))
    if left_s > 0:
        if fate.after_s < SHORT_S:
            return Decision(None, left_s)
        return Decision(Picture("running", restarts=pod.most_restarts), left_s)
    if fate.outcome == "ready":
        return Decision(Picture("ready", restarts=pod.most_restarts))
    if -left_s < fate.run_s:
        return Decision(Picture("ready", restarts=pod.most_restarts), fate.run_s + left_s)
    match fate.outcome:
        case "succeed" if pod.spec.restart_policy != "Always":
            return Decision(Picture("succeeded", "Completed"))
        case "succeed":
            return _looping(pod, fate, -left_s, "Completed", 0)
        case "oom-killed":
            return _failing(pod, fate, -left_s, "OOMKilled", 137)
    return _failing(pod, fate, -left_s, "Error", fate.exit_code)


def decide_deadline(pod: Pod, now: datetime) -> Decision:
    """Of a Pod that may be active for a limited time only."""
    limit_s, started = pod.spec.active_deadline_seconds, pod.status.start_time
    if limit_s is None or not started:
        return Decision()
    left_s = limit_s - (now - time_of(started, now)).total_seconds()
    if left_s > 0:
        return Decision(again_s=left_s)
    return Decision(Picture("failed", "Error", exit_code=_KILLED, restarts=pod.most_restarts, is_overdue=True))


def elapsed_before(pod: Pod, fate: Fate, age_s: float = 0.0) -> float:
    """How long a Pod that is seen for the first time has had its fate already, by what it shows and by its age.

    After a restart of this process the Pods go on where they were.
    """
    match fate.outcome:
        case "ready":
            return fate.after_s if pod.has_ready_containers else 0.0
        case "image-pull-error":
            return _PULL_PERIOD_S if _waits(pod, "ImagePullBackOff") else 0.0
    if fate.run_s and pod.has_ready_containers:
        if not pod.most_restarts:
            return fate.after_s + min(age_s, fate.run_s)
        return fate.after_s + _back_offs(pod.most_restarts, _first_back_off(fate)) + pod.most_restarts * fate.run_s
    if not pod.most_restarts or not _waits(pod, "CrashLoopBackOff"):
        return 0.0
    runs_s = (pod.most_restarts + 1) * fate.run_s
    return fate.after_s + runs_s + _back_offs(pod.most_restarts, _first_back_off(fate))


def _waits(pod: Pod, reason: str) -> bool:
    states = (each.state.waiting for each in pod.status.container_statuses)
    return any(each is not None and each.reason == reason for each in states)


def _failing(pod: Pod, fate: Fate, since_s: float, reason: str, code: int) -> Decision:
    if pod.spec.restart_policy == "Never":
        return Decision(Picture("failed", reason, exit_code=code))
    return _looping(pod, fate, since_s, reason, code)


def _looping(pod: Pod, fate: Fate, since_s: float, reason: str, code: int) -> Decision:
    """The containers run, end, wait for longer each time, and are restarted; the first time they are at once."""
    restarts, back_off_s, rest_s = 1, _first_back_off(fate), since_s - fate.run_s
    longest_s = back_off_s * _LONGEST_BACK_OFF
    while 0 < back_off_s < longest_s and rest_s >= fate.run_s + back_off_s:
        rest_s -= fate.run_s + back_off_s
        restarts += 1
        back_off_s = min(back_off_s * 2, longest_s)
    if longest_s > 0 and rest_s >= fate.run_s + longest_s:
        restarts += int(rest_s // (fate.run_s + longest_s))
        rest_s %= fate.run_s + longest_s
    restarts = min(max(restarts, pod.most_restarts), _MOST_RESTARTS)
    if rest_s < fate.run_s:
        picture = Picture("ready", restarts=restarts, exit_code=code, ended=reason)
        return Decision(picture, fate.run_s - rest_s)
    message = _back_off_message(pod, back_off_s)
    picture = Picture("waiting", "CrashLoopBackOff", message, exit_code=code, restarts=restarts, ended=reason)
    return Decision(picture, fate.run_s + back_off_s - rest_s if back_off_s > 0 else None)


def _first_back_off(fate: Fate) -> float:
    """None at all means that the container is restarted once."""
    return max(fate.back_off_s, _SHORTEST_BACK_OFF_S) if fate.back_off_s > 0 else 0.0


def _back_offs(restarts: int, first_s: float) -> float:
    """How long a container has failed for when it was restarted so often."""
    total_s, back_off_s, longest_s = 0.0, first_s, first_s * _LONGEST_BACK_OFF
    while restarts > 1 and back_off_s < longest_s:
        total_s += back_off_s
        restarts -= 1
        back_off_s = min(back_off_s * 2, longest_s)
    return total_s + (restarts - 1) * longest_s


def _back_off_message(pod: Pod, back_off_s: float) -> str:
    name = pod.spec.containers[0].name if pod.spec.containers else ""
    meta = pod.metadata
    whole = _minutes(back_off_s)
    return f"back-off {whole} restarting failed container={name} pod={meta.name}_{meta.namespace}({meta.uid})"


def _minutes(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 60}m{whole % 60}s" if whole >= 60 else f"{whole}s"


def _pulling(pod: Pod, elapsed_s: float) -> Decision:
    image = pod.spec.containers[0].image if pod.spec.containers else ""
    if elapsed_s < _PULL_PERIOD_S:
        message = f'failed to pull and unpack image "{image}": not found'
        return Decision(Picture("waiting", "ErrImagePull", message), _PULL_PERIOD_S - elapsed_s)
    message = f'Back-off pulling image "{image}": ErrImagePull: failed to pull and unpack image "{image}": not found'
    return Decision(Picture("waiting", "ImagePullBackOff", message))
