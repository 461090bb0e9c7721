"""The statuses of ephemeral containers, which run beside the others until their commands end. Pure.

One whose command is unknown runs as long as the Pod: somebody debugs in it.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.workloads.api import Container, EphemeralState, Pod
from homeostat.operators.workloads.availability import time_of
from homeostat.operators.workloads.pods.commands import NEVER, container_ending, has_short_commands
from homeostat.operators.workloads.pods.containers import container_id, image_id
from homeostat.operators.workloads.pods.state import KILLED

_NEW = EphemeralState()


class Ephemeral(msgspec.Struct, frozen=True):
    statuses: tuple[JsonObject, ...] = ()
    is_shown: bool = True
    """Whether the status of the Pod says this already."""
    again_s: float | None = None


NONE = Ephemeral()


def decide_ephemeral(pod: Pod, now: datetime, *, is_over: bool) -> Ephemeral:
    """`is_over` if the Pod ends, which kills those that still run."""
    containers = pod.spec.ephemeral_containers
    if not containers:
        return NONE
    known = {each.name: each.state for each in pod.status.ephemeral_container_statuses}
    is_short = has_short_commands(containers)
    statuses, waits_s, is_shown = list[JsonObject](), list[float](), True
    for each in containers:
        former = known.get(each.name, _NEW)
        state, left_s = _state(pod, each, former, now, is_short=is_short, is_over=is_over)
        is_shown = is_shown and ("running" in state) == (former.running is not None) and former is not _NEW
        waits_s += [] if left_s is None else [left_s]
        statuses.append(_status(pod, each, state))
    return Ephemeral(tuple(statuses), is_shown, min(waits_s, default=None))


def _state(
    pod: Pod, container: Container, former: EphemeralState, now: datetime, *, is_short: bool, is_over: bool
) -> tuple[JsonObject, float | None]:
    """And when it ends; None if that is unknown or past."""
    number = container_id(pod, container.name, 0)
    if (ended := former.terminated) is not None:
        times = {"startedAt": ended.started_at, "finishedAt": ended.finished_at}
        return {"terminated": _ended(ended.exit_code, times, number)}, None
    started = (former.running.started_at if former.running else None) or format_time(now)
    ending = container_ending(container, is_short=is_short) or NEVER
    left_s = ending.after_s - (now - time_of(started, now)).total_seconds()
    if left_s > 0 and not is_over:
        return {"running": {"startedAt": started}}, None if ending.is_never else left_s
    code = KILLED if left_s > 0 else ending.code
    return {"terminated": _ended(code, {"startedAt": started, "finishedAt": format_time(now)}, number)}, None


def _ended(code: int, times: JsonObject, number: str) -> JsonObject:
    return {"exitCode": code, "reason": "Error" if code else "Completed", **times, "containerID": number}


def _status(pod: Pod, container: Container, state: JsonObject) -> JsonObject:
    return {
        "name": container.name,
        "image": container.image,
        "imageID": image_id(container.image),
        "containerID": container_id(pod, container.name, 0),
        "ready": False,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }
