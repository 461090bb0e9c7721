"""The status that a kubelet would report of a Pod in a given stage. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Final, Literal

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import Container, Pod

Stage = Literal["running", "ready", "waiting", "succeeded", "failed"]


class Picture(msgspec.Struct, frozen=True):
    """What is to be shown of a Pod. `reason` is that of waiting or ended containers."""

    stage: Stage
    reason: str = ""
    message: str = ""
    exit_code: int = 0
    restarts: int = 0
    ended: str = ""
    """The reason of the last end of the containers, where they were restarted."""
    is_overdue: bool = False
    """It was active for too long."""


OVERDUE: Final = "DeadlineExceeded"
OVERDUE_MESSAGE: Final = "Pod was active on the node longer than the specified deadline"
_CONDITIONS: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def shows(pod: Pod, picture: Picture) -> bool:
    """Whether the status already says this, so that nothing has to be written."""
    status = pod.status
    phase = _phase(picture)
    if status.phase != phase or not status.container_statuses or not status.pod_ip:
        return False
    if picture.stage in ("succeeded", "failed"):
        return True
    if status.observed_generation != pod.metadata.generation:
        return False
    is_ready = picture.stage == "ready"
    waits = picture.reason if picture.stage == "waiting" else ""
    if pod.is_ready != (is_ready and not _closed_gates(pod)):
        return False
    return all(
        each.ready == is_ready
        and each.restart_count == picture.restarts
        and (each.state.waiting.reason if each.state.waiting else "") == waits
        for each in status.container_statuses
    )


def status_of(pod: Pod, picture: Picture, *, now: str, ip: str, host_ip: str) -> JsonObject:
    started = pod.status.start_time or now
    status: JsonObject = {
        "phase": _phase(picture),
        "conditions": _conditions(pod, picture, now),
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "startTime": started,
        "containerStatuses": [_container(pod, each, picture, now=now, started=started) for each in pod.spec.containers],
    }
    if picture.is_overdue:
        status |= {"reason": OVERDUE, "message": OVERDUE_MESSAGE}
    if host_ip:
        status |= {"hostIP": host_ip, "hostIPs": [{"ip": host_ip}]}
    if pod.metadata.generation:
        status["observedGeneration"] = pod.metadata.generation
    if pod.spec.init_containers:
        status["initContainerStatuses"] = [_initialised(pod, each, started) for each in pod.spec.init_containers]
    return status


def _phase(picture: Picture) -> str:
    match picture.stage:
        case "succeeded":
            return "Succeeded"
        case "failed":
            return "Failed"
        case "waiting" if not picture.ended:
            return "Pending"
    return "Running"


def _conditions(pod: Pod, picture: Picture, now: str) -> list[JsonObject]:
    conditions: list[JsonObject] = []
    for kind in _CONDITIONS:
        status, reason, message = _condition(pod, kind, picture)
        former = pod.condition(kind)
        since = former.transitioned if former and former.status == status else now
        found: JsonObject = {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": since or now}
        if reason:
            found["reason"] = reason
        if message:
            found["message"] = message
        if pod.metadata.generation:
            found["observedGeneration"] = pod.metadata.generation
        conditions.append(found)
    return [*conditions, *other_conditions(pod, _CONDITIONS)]


def unready_condition(now: str) -> JsonObject:
    """Of a Pod on a Node that fails."""
    return {"type": "Ready", "status": "False", "lastProbeTime": None, "lastTransitionTime": now}


def preempted_condition(pod: Pod, now: str) -> JsonObject:
    """Of a Pod that has to make room for one of higher priority."""
    generation: JsonObject = {"observedGeneration": pod.metadata.generation} if pod.metadata.generation else {}
    return {
        **generation,
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "default-scheduler: preempting to accommodate a higher priority pod",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }


def other_conditions(pod: Pod, kinds: Collection[str]) -> list[JsonObject]:
    """Those of other types, which others report: a patch replaces the whole list."""
    return [
        {name: value for name, value in msgspec.to_builtins(each).items() if value or name == "lastProbeTime"}
        for each in pod.status.conditions
        if each.type not in kinds
    ]


def has_others(pod: Pod) -> bool:
    """Whether others report conditions of the Pod, so that a patch has to name the version that it is for."""
    return bool(pod.spec.readiness_gates) or any(each.type not in _CONDITIONS for each in pod.status.conditions)


def _closed_gates(pod: Pod) -> list[str]:
    """Why the Pod is not ready although its containers are, in kubelet's words."""
    found = []
    for name in (each.condition_type for each in pod.spec.readiness_gates):
        condition = pod.condition(name)
        if condition is None:
            found.append(f'corresponding condition of pod readiness gate "{name}" does not exist.')
        elif condition.status != "True":
            found.append(f'the status of pod readiness gate "{name}" is not "True", but {condition.status}')
    return found


def _condition(pod: Pod, kind: str, picture: Picture) -> tuple[str, str, str]:
    is_over = picture.stage in ("succeeded", "failed")
    if kind == "PodScheduled":
        return "True", "", ""
    if kind == "PodReadyToStartContainers":
        return "False" if is_over else "True", "", ""
    if kind == "Initialized":
        return "True", "PodCompleted" if picture.stage == "succeeded" else "", ""
    if picture.stage == "ready":
        closed = _closed_gates(pod) if kind == "Ready" else []
        return ("False", "ReadinessGatesNotReady", ", ".join(closed)) if closed else ("True", "", "")
    if is_over:
        return "False", "PodCompleted" if picture.stage == "succeeded" else "PodFailed", ""
    names = " ".join(each.name for each in pod.spec.containers)
    return "False", "ContainersNotReady", f"containers with unready status: [{names}]"


def _container(pod: Pod, container: Container, picture: Picture, *, now: str, started: str) -> JsonObject:
    number = container_id(pod, container.name, picture.restarts)
    ended: JsonObject = {
        "exitCode": picture.exit_code,
        "reason": picture.ended or picture.reason,
        "startedAt": started,
        "finishedAt": now,
        "containerID": number,
    }
    found: JsonObject = {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "ready": picture.stage == "ready",
        "restartCount": picture.restarts,
        "started": picture.stage == "ready" or (picture.stage == "running" and container.startup_probe is None),
        "state": {},
        "lastState": {},
    }
    match picture.stage:
        case "waiting":
            found["state"] = {"waiting": {"reason": picture.reason, "message": picture.message}}
            if picture.ended:
                found["lastState"] = {"terminated": ended}
        case "succeeded" | "failed":
            found["state"] = {"terminated": ended}
        case _:
            found["state"] = {"running": {"startedAt": now}}
            if picture.ended:
                found["lastState"] = {"terminated": ended}
    if picture.stage != "waiting" or picture.ended:
        found["containerID"] = number
        found["imageID"] = image_id(container.image)
    return found


def _initialised(pod: Pod, container: Container, started: str) -> JsonObject:
    number = container_id(pod, container.name, 0)
    is_sidecar = container.restart_policy == "Always"
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": started, "containerID": number}
    return {
        "name": container.name,
        "image": container.image,
        "imageID": image_id(container.image),
        "containerID": number,
        "ready": True,
        "restartCount": 0,
        "started": is_sidecar,
        "state": {"running": {"startedAt": started}} if is_sidecar else {"terminated": ended},
        "lastState": {},
    }


def container_id(pod: Pod, name: str, restarts: int) -> str:
    return f"simulated://{pod.metadata.uid}/{name}/{restarts}"


def image_id(image: str) -> str:
    """The same image always has the same digest."""
    return f"{image.partition('@')[0]}@sha256:{hashlib.sha256(image.encode()).hexdigest()}"
