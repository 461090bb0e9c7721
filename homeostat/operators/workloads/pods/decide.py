"""What a Pod shows after some time on its Node, and when that changes next. Pure.

The default back-off of a failing container is kubelet's: the first restart is immediate, then 10 s, doubling to 300 s.
"""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat.operators.workloads.api import Pod
from homeostat.operators.workloads.pods.rules import Fate
from homeostat.operators.workloads.pods.status import Picture

SHORT_S: Final = 0.5
"""A Pod that gets ready sooner shows nothing in between, which saves a write."""
_LONGEST_BACK_OFF: Final = 30
_PULL_PERIOD_S: Final = 1.0


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
            return Decision(Picture("running", restarts=pod.restarts))
    if left_s > 0:
        if fate.after_s < SHORT_S:
            return Decision(None, left_s)
        return Decision(Picture("running"), left_s)
    match fate.outcome:
        case "ready":
            return Decision(Picture("ready", restarts=pod.restarts))
        case "succeed" if pod.spec.restart_policy != "Always":
            return Decision(Picture("succeeded", "Completed"))
        case "succeed":
            return _looping(pod, fate, -left_s, "Completed", 0)
        case "oom-killed":
            return _failing(pod, fate, -left_s, "OOMKilled", 137)
    return _failing(pod, fate, -left_s, "Error", 1)


def _failing(pod: Pod, fate: Fate, since_s: float, reason: str, code: int) -> Decision:
    if pod.spec.restart_policy == "Never":
        return Decision(Picture("failed", reason, exit_code=code))
    return _looping(pod, fate, since_s, reason, code)


def _looping(pod: Pod, fate: Fate, since_s: float, reason: str, code: int) -> Decision:
    restarts, back_off_s, rest_s = 1, fate.back_off_s, since_s
    while back_off_s > 0 and rest_s >= back_off_s and restarts < 1000:
        rest_s -= back_off_s
        restarts += 1
        back_off_s = min(back_off_s * 2, fate.back_off_s * _LONGEST_BACK_OFF)
    message = _back_off_message(pod, back_off_s)
    restarts = max(restarts, pod.restarts)
    picture = Picture("waiting", "CrashLoopBackOff", message, exit_code=code, restarts=restarts, ended=reason)
    return Decision(picture, back_off_s - rest_s if back_off_s > 0 else None)


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
