"""The Events that a kubelet records of the containers of a Pod."""

from __future__ import annotations

from collections.abc import Iterator

from homeostat.objects.kind import POD
from homeostat.operators.workloads.api import Container, Pod
from homeostat.operators.workloads.events import KUBELET, Events
from homeostat.operators.workloads.pods.eviction import EVICTED
from homeostat.operators.workloads.pods.state import PodState
from homeostat.operators.workloads.pods.status import is_initialized
from homeostat.runtime.control.recorder import EventType


def record_shown(events: Events, pod: Pod, state: PodState, *, is_new: bool) -> None:
    """`is_new` if nothing was shown of the Pod before."""
    record, meta = events.record, pod.metadata
    if state.cause is not None:
        type_: EventType = "Warning" if state.cause.reason == EVICTED else "Normal"
        record(POD, meta, state.cause.reason, state.cause.message, by=KUBELET, type_=type_)
    if state.reason in ("ContainerCreating", "PodInitializing"):
        return
    concerned = pod.spec.containers if state.init is None else pod.spec.init_containers[state.init :][:1]
    for container in concerned:
        image = container.image
        match state.reason:
            case "ErrImagePull":
                record(POD, meta, "Pulling", f'Pulling image "{image}"', by=KUBELET)
                failed = f'Failed to pull image "{image}": not found'
                record(POD, meta, "Failed", failed, by=KUBELET, type_="Warning")
            case "ImagePullBackOff":
                record(POD, meta, "BackOff", f'Back-off pulling image "{image}"', by=KUBELET)
    if state.reason not in ("ErrImagePull", "ImagePullBackOff"):
        for container in _started(pod, state, is_new=is_new):
            _record_start(events, pod, container)
    if state.reason == "CrashLoopBackOff":
        for container in concerned:
            message = f"Back-off restarting failed container {container.name} in pod {meta.name}_{meta.namespace}"
            record(POD, meta, "BackOff", message, by=KUBELET, type_="Warning")


def _started(pod: Pod, state: PodState, *, is_new: bool) -> Iterator[Container]:
    """The containers that start for the first time with what is shown now."""
    spec, known = pod.spec, pod.status.init_container_statuses
    for number, each in enumerate(spec.init_containers[: None if state.init is None else state.init + 1]):
        if is_new or (number < len(known) and known[number].state.waiting and not known[number].restart_count):
            yield each
    if state.init is None and (is_new or (spec.init_containers and not is_initialized(pod))):
        yield from spec.containers


def _record_start(events: Events, pod: Pod, container: Container) -> None:
    record, meta = events.record, pod.metadata
    pulled = f'Container image "{container.image}" already present on machine'
    record(POD, meta, "Pulled", pulled, by=KUBELET)
    record(POD, meta, "Created", f"Created container: {container.name}", by=KUBELET)
    record(POD, meta, "Started", f"Started container {container.name}", by=KUBELET)
