"""What a Pod shows after some time on its Node, and when that changes next. Pure.

The default back-off of a failing container is kubelet's: the first restart is immediate, then 10 s, doubling to 300 s.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from homeostat.operators.workloads.api import Pod
from homeostat.operators.workloads.availability import time_of
from homeostat.operators.workloads.pods.commands import Ending
from homeostat.operators.workloads.pods.eviction import eviction_cause
from homeostat.operators.workloads.pods.rules import Fate
from homeostat.operators.workloads.pods.state import KILLED, OVERDUE, PodState, Stage
from homeostat.operators.workloads.pods.status import is_initialized

SHORT_S: Final = 0.5
"""A Pod that gets ready sooner shows nothing in between, which saves a write."""
_LEAST_S: Final = {"evicted-memory": 1.0, "evicted-storage": 1.0}
"""Not at once: whoever replaces the Pod would do so without end."""
_LONGEST_BACK_OFF: Final = 30
_SHORTEST_BACK_OFF_S: Final = 0.1
_MOST_RESTARTS: Final = 2**31 - 1
_PULL_PERIOD_S: Final = 1.0


class Decision(msgspec.Struct, frozen=True):
    state: PodState | None = None
    """None: nothing is shown yet."""
    again_s: float | None = None


class _Loop(NamedTuple):
    """Containers that run, end, wait for longer each time, and are restarted."""

    name: str
    run_s: float
    reason: str
    code: int
    restarts: int
    """At least so often already."""
    init: int | None = None


def decide(pod: Pod, fate: Fate, elapsed_s: float) -> Decision:
    """`elapsed_s` since the Pod was first seen on its Node with this fate."""
    for number, ending in enumerate(fate.init):
        if elapsed_s < ending.after_s or ending.code:
            return _initializing(pod, fate, number, ending, elapsed_s)
        elapsed_s -= ending.after_s
    after_s = max(fate.after_s, _LEAST_S.get(fate.outcome, 0.0))
    left_s = after_s - elapsed_s
    match fate.outcome:
        case "pending":
            return Decision(_waiting(pod))
        case "image-pull-error":
            return _pulling(pod, elapsed_s)
        case "never-ready":
            return Decision(PodState("running", restarts=pod.most_restarts))
    if left_s > 0:
        if after_s < SHORT_S:
            return Decision(None, left_s)
        return Decision(PodState("running", restarts=pod.most_restarts), left_s)
    if fate.outcome == "ready":
        return Decision(PodState("ready", restarts=pod.most_restarts))
    if -left_s < fate.run_s:
        return Decision(PodState("ready", restarts=pod.most_restarts), fate.run_s + left_s)
    match fate.outcome:
        case "succeed" if pod.spec.restart_policy != "Always":
            return Decision(PodState("succeeded", "Completed"))
        case "succeed":
            return _looping(pod, fate, _loop(pod, fate, "Completed", 0), -left_s)
        case "oom-killed":
            return _failing(pod, fate, _loop(pod, fate, "OOMKilled", KILLED), -left_s)
        case "evicted-memory" | "evicted-storage" as outcome:
            cause = eviction_cause(pod.spec, outcome)
            return Decision(PodState("failed", "Error", exit_code=KILLED, restarts=pod.most_restarts, cause=cause))
    return _failing(pod, fate, _loop(pod, fate, "Error", fate.exit_code), -left_s)


def _waiting(pod: Pod) -> PodState:
    if pod.spec.init_containers:
        return PodState("waiting", "PodInitializing", init=0)
    return PodState("waiting", "ContainerCreating")


def _loop(pod: Pod, fate: Fate, reason: str, code: int) -> _Loop:
    name = pod.spec.containers[0].name if pod.spec.containers else ""
    return _Loop(name, fate.run_s, reason, code, pod.most_restarts)


def _initializing(pod: Pod, fate: Fate, number: int, ending: Ending, elapsed_s: float) -> Decision:
    """Of an init container that runs or fails, `elapsed_s` after its first start."""
    left_s = ending.after_s - elapsed_s
    if left_s > 0:
        state = None if ending.after_s < SHORT_S else PodState("running", init=number)
        return Decision(state, None if ending.is_never else left_s)
    found = pod.status.init_container_statuses
    restarts = found[number].restart_count if number < len(found) else 0
    name = pod.spec.init_containers[number].name
    loop = _Loop(name, ending.after_s, "Error", ending.code, restarts, init=number)
    return _failing(pod, fate, loop, elapsed_s)


def decide_deadline(pod: Pod, now: datetime) -> Decision:
    """Of a Pod that may be active for a limited time only."""
    limit_s, started = pod.spec.active_deadline_seconds, pod.status.start_time
    if limit_s is None or not started:
        return Decision()
    left_s = limit_s - (now - time_of(started, now)).total_seconds()
    if left_s > 0:
        return Decision(again_s=left_s)
    return Decision(PodState("failed", "Error", exit_code=KILLED, restarts=pod.most_restarts, cause=OVERDUE))


def limited(pod: Pod, decision: Decision, now: datetime) -> Decision:
    """The decision for a Pod, within the time that it may be active."""
    if pod.spec.active_deadline_seconds is None:
        return decision
    deadline = decide_deadline(pod, now)
    if deadline.state is None:
        waits_s = [each for each in (deadline.again_s, decision.again_s) if each is not None]
        return Decision(decision.state, min(waits_s, default=None))
    init = decision.state.init if decision.state is not None else None
    return Decision(replace(deadline.state, init=init, restarts=0 if init is not None else deadline.state.restarts))


def stopped(pod: Pod) -> PodState:
    """Of a Pod that is deleted, when its containers have stopped."""
    if is_initialized(pod) or not pod.spec.init_containers:
        return PodState("succeeded", "Completed", restarts=pod.most_restarts)
    found = pod.status.init_container_statuses
    number = next((number for number, each in enumerate(found) if not each.ready), 0)
    return PodState(
        "failed", "Error", exit_code=KILLED, restarts=found[number].restart_count if found else 0, init=number
    )


def elapsed_before(pod: Pod, fate: Fate, age_s: float = 0.0) -> float:
    """How long a Pod that is seen for the first time has had its fate already, by what it shows and by its age.

    After a restart of this process the Pods go on where they were.
    """
    if not fate.init:
        return _elapsed_ready(pod, fate, age_s)
    if is_initialized(pod):
        return sum(each.after_s for each in fate.init) + _elapsed_ready(pod, fate, age_s)
    return _elapsed_initializing(pod, fate)


def _elapsed_initializing(pod: Pod, fate: Fate) -> float:
    total_s = 0.0
    for status, ending in zip(pod.status.init_container_statuses, fate.init, strict=False):
        if status.restart_count:
            runs_s = (status.restart_count + 1) * ending.after_s
            return total_s + runs_s + _back_offs(status.restart_count, _first_back_off(fate))
        if not status.ready:
            break
        total_s += ending.after_s
    return total_s


def _elapsed_ready(pod: Pod, fate: Fate, age_s: float) -> float:
    """Since the init containers have ended."""
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


def _failing(pod: Pod, fate: Fate, loop: _Loop, since_s: float) -> Decision:
    if pod.spec.restart_policy == "Never":
        return Decision(PodState("failed", loop.reason, exit_code=loop.code, init=loop.init))
    return _looping(pod, fate, loop, since_s)


def _looping(pod: Pod, fate: Fate, loop: _Loop, since_s: float) -> Decision:
    """The first time they are restarted at once. `since_s` their first start."""
    restarts, back_off_s, rest_s = 1, _first_back_off(fate), since_s - loop.run_s
    longest_s = back_off_s * _LONGEST_BACK_OFF
    while 0 < back_off_s < longest_s and rest_s >= loop.run_s + back_off_s:
        rest_s -= loop.run_s + back_off_s
        restarts += 1
        back_off_s = min(back_off_s * 2, longest_s)
    if longest_s > 0 and rest_s >= loop.run_s + longest_s:
        restarts += int(rest_s // (loop.run_s + longest_s))
        rest_s %= loop.run_s + longest_s
    restarts = min(max(restarts, loop.restarts), _MOST_RESTARTS)
    if rest_s < loop.run_s:
        stage: Stage = "ready" if loop.init is None else "running"
        state = PodState(stage, restarts=restarts, exit_code=loop.code, ended=loop.reason, init=loop.init)
        return Decision(state, loop.run_s - rest_s)
    message = _back_off_message(pod, loop.name, back_off_s)
    state = PodState(
        "waiting",
        "CrashLoopBackOff",
        message,
        exit_code=loop.code,
        restarts=restarts,
        ended=loop.reason,
        init=loop.init,
    )
    return Decision(state, loop.run_s + back_off_s - rest_s if back_off_s > 0 else None)


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


def _back_off_message(pod: Pod, name: str, back_off_s: float) -> str:
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
        return Decision(PodState("waiting", "ErrImagePull", message), _PULL_PERIOD_S - elapsed_s)
    message = f'Back-off pulling image "{image}": ErrImagePull: failed to pull and unpack image "{image}": not found'
    return Decision(PodState("waiting", "ImagePullBackOff", message))
