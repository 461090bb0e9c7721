"""The statuses of the containers of a Pod that a kubelet would report. Pure."""

from __future__ import annotations

import hashlib
from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import Container, Pod
from homeostat.operators.workloads.pods.state import PodState

_INITIALIZING: Final = "PodInitializing"


def container_statuses(pod: Pod, state: PodState, *, now: str, started: str) -> list[JsonObject]:
    if state.init is not None:
        return [_waiting(each) for each in pod.spec.containers]
    return [_container(pod, each, state, now=now, started=started) for each in pod.spec.containers]


def init_statuses(pod: Pod, state: PodState, *, now: str, started: str) -> list[JsonObject]:
    found = []
    for number, each in enumerate(pod.spec.init_containers):
        if state.init is None or number < state.init:
            found.append(_initialized(pod, each, state, started))
        elif number == state.init:
            found.append(_container(pod, each, state, now=now, started=started))
        else:
            found.append(_waiting(each))
    return found


def _container(pod: Pod, container: Container, state: PodState, *, now: str, started: str) -> JsonObject:
    number = container_id(pod, container.name, state.restarts)
    ended: JsonObject = {
        "exitCode": state.exit_code,
        "reason": state.ended or state.reason,
        "startedAt": started,
        "finishedAt": now,
        "containerID": number,
    }
    found: JsonObject = {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "ready": state.stage == "ready",
        "restartCount": state.restarts,
        "started": state.stage == "ready" or (state.stage == "running" and container.startup_probe is None),
        "state": {},
        "lastState": {},
    }
    match state.stage:
        case "waiting":
            found["state"] = {"waiting": _reason(state.reason, state.message)}
            if state.ended:
                found["lastState"] = {"terminated": ended}
        case "succeeded" | "failed":
            found["state"] = {"terminated": ended}
        case _:
            found["state"] = {"running": {"startedAt": _running_since(pod, state, now)}}
            if state.ended:
                found["lastState"] = {"terminated": ended}
    if state.stage != "waiting" or state.ended:
        found["containerID"] = number
        found["imageID"] = image_id(container.image)
    return found


def _running_since(pod: Pod, state: PodState, now: str) -> str:
    """Containers that were never restarted have run since the Pod was initialized."""
    found = pod.condition("Initialized") if state.init is None and not state.restarts else None
    return (found.transitioned if found is not None and found.status == "True" else None) or now


def _reason(reason: str, message: str) -> JsonObject:
    return {"reason": reason, "message": message} if message else {"reason": reason}


def _waiting(container: Container) -> JsonObject:
    """Of one that waits for the init containers before it."""
    return {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "started": False,
        "state": {"waiting": {"reason": _INITIALIZING}},
        "lastState": {},
    }


def _initialized(pod: Pod, container: Container, state: PodState, started: str) -> JsonObject:
    """Sidecars run until the Pod ends."""
    number = container_id(pod, container.name, 0)
    is_over = state.stage in ("succeeded", "failed")
    is_sidecar = container.restart_policy == "Always"
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": started, "containerID": number}
    return {
        "name": container.name,
        "image": container.image,
        "imageID": image_id(container.image),
        "containerID": number,
        "ready": not (is_sidecar and is_over),
        "restartCount": 0,
        "started": is_sidecar and not is_over,
        "state": {"running": {"startedAt": started}} if is_sidecar and not is_over else {"terminated": ended},
        "lastState": {},
    }


def container_id(pod: Pod, name: str, restarts: int) -> str:
    return f"simulated://{pod.metadata.uid}/{name}/{restarts}"


def image_id(image: str) -> str:
    """The same image always has the same digest."""
    return f"{image.partition('@')[0]}@sha256:{hashlib.sha256(image.encode()).hexdigest()}"
