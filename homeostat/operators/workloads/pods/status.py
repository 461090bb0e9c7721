"""The status that a kubelet would report of a Pod in a given stage. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import Pod
from homeostat.operators.workloads.pods.containers import container_statuses, init_statuses
from homeostat.operators.workloads.pods.state import PodState

_CONDITIONS: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
DISRUPTED: Final = "DisruptionTarget"


def shows(pod: Pod, state: PodState) -> bool:
    """Whether the status already says this, so that nothing has to be written."""
    status = pod.status
    phase = _phase(state)
    if status.phase != phase or not status.container_statuses or not status.pod_ip:
        return False
    if state.is_over:
        return True
    if status.observed_generation != pod.metadata.generation:
        return False
    waits = state.reason if state.stage == "waiting" else ""
    if state.init is not None:
        return _shows_init(pod, state, state.init, waits)
    is_ready = state.stage == "ready"
    if pod.is_ready != (is_ready and not _closed_gates(pod)):
        return False
    return all(
        each.ready == is_ready
        and each.restart_count == state.restarts
        and (each.state.waiting.reason if each.state.waiting else "") == waits
        for each in status.container_statuses
    )


def _shows_init(pod: Pod, state: PodState, number: int, waits: str) -> bool:
    found = pod.status.init_container_statuses
    if number >= len(found) or is_initialized(pod):
        return False
    each = found[number]
    return each.restart_count == state.restarts and (each.state.waiting.reason if each.state.waiting else "") == waits


def is_initialized(pod: Pod) -> bool:
    """Whether the status says that all init containers have ended, or that there are none."""
    found = pod.condition("Initialized")
    return found is not None and found.status == "True"


def status_of(
    pod: Pod, state: PodState, *, now: str, ip: str, host_ip: str, ephemeral: Sequence[JsonObject] = ()
) -> JsonObject:
    started = pod.status.start_time or now
    status: JsonObject = {
        "phase": _phase(state),
        "conditions": _conditions(pod, state, now),
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "startTime": started,
        "containerStatuses": container_statuses(pod, state, now=now, started=started),
    }
    if state.cause is not None:
        status |= {"reason": state.cause.reason, "message": state.cause.message}
    if host_ip:
        status |= {"hostIP": host_ip, "hostIPs": [{"ip": host_ip}]}
    if pod.metadata.generation:
        status["observedGeneration"] = pod.metadata.generation
    if pod.spec.init_containers:
        status["initContainerStatuses"] = init_statuses(pod, state, now=now, started=started)
    if ephemeral:
        status["ephemeralContainerStatuses"] = list(ephemeral)
    return status


def rejected_status(pod: Pod, reason: str, message: str, now: str) -> JsonObject:
    """Of a Pod that a kubelet does not admit: it drops the conditions that it would report itself."""
    status: JsonObject = {
        "phase": "Failed",
        "reason": reason,
        "message": f"Pod was rejected: {message}",
        "startTime": pod.status.start_time or now,
        "conditions": other_conditions(pod, _CONDITIONS) or None,
    }
    if pod.metadata.generation:
        status["observedGeneration"] = pod.metadata.generation
    return status


def orphaned_status(pod: Pod, now: str) -> JsonObject:
    """Of a Pod whose Node is gone."""
    condition = disruption(pod, "DeletionByPodGC", "PodGC: node no longer exists", now)
    return {"phase": "Failed", "conditions": [condition, *other_conditions(pod, (DISRUPTED,))]}


def _phase(state: PodState) -> str:
    match state.stage:
        case "succeeded":
            return "Succeeded"
        case "failed":
            return "Failed"
        case "waiting" if not state.ended:
            return "Pending"
    return "Running" if state.init is None else "Pending"


def _conditions(pod: Pod, state: PodState, now: str) -> list[JsonObject]:
    conditions: list[JsonObject] = []
    for kind in _CONDITIONS:
        status, reason, message = _condition(pod, kind, state)
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
    others = other_conditions(pod, _CONDITIONS)
    if state.cause is not None and state.cause.is_disruption:
        others = [each for each in others if each["type"] != DISRUPTED]
        others.append(disruption(pod, "TerminationByKubelet", state.cause.message, now))
    return [*conditions, *others]


def unready_condition(now: str) -> JsonObject:
    """Of a Pod on a Node that fails."""
    return {"type": "Ready", "status": "False", "lastProbeTime": None, "lastTransitionTime": now}


def disruption(pod: Pod, reason: str, message: str, now: str) -> JsonObject:
    """The condition of a Pod that ends because of others and not by itself."""
    generation: JsonObject = {"observedGeneration": pod.metadata.generation} if pod.metadata.generation else {}
    return {
        **generation,
        "type": DISRUPTED,
        "status": "True",
        "reason": reason,
        "message": message,
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


def _condition(pod: Pod, kind: str, state: PodState) -> tuple[str, str, str]:
    if kind == "PodScheduled":
        return "True", "", ""
    if kind == "PodReadyToStartContainers":
        return "False" if state.is_over else "True", "", ""
    if kind == "Initialized":
        return _initialized(pod, state)
    if state.stage == "ready":
        closed = _closed_gates(pod) if kind == "Ready" else []
        return ("False", "ReadinessGatesNotReady", ", ".join(closed)) if closed else ("True", "", "")
    if state.is_over:
        return "False", "PodCompleted" if state.stage == "succeeded" else "PodFailed", ""
    return "False", "ContainersNotReady", f"containers with unready status: [{' '.join(_unready(pod, state))}]"


def _initialized(pod: Pod, state: PodState) -> tuple[str, str, str]:
    if state.init is None:
        return "True", "PodCompleted" if state.stage == "succeeded" else "", ""
    names = " ".join(each.name for each in pod.spec.init_containers[state.init :])
    return "False", "ContainersNotInitialized", f"containers with incomplete status: [{names}]"


def _unready(pod: Pod, state: PodState) -> list[str]:
    waiting = () if state.init is None else pod.spec.init_containers[state.init :]
    sidecars = [each.name for each in waiting if each.restart_policy == "Always"]
    return [*sidecars, *(each.name for each in pod.spec.containers)]
