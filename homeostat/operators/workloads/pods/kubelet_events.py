"""The Events that a kubelet records of the containers of a Pod."""

from __future__ import annotations

from homeostat.objects.kind import POD
from homeostat.operators.workloads.api import Pod
from homeostat.operators.workloads.events import KUBELET, Events
from homeostat.operators.workloads.pods.status import OVERDUE, OVERDUE_MESSAGE, Picture


def record_shown(events: Events, pod: Pod, picture: Picture, *, is_new: bool) -> None:
    """`is_new` if nothing was shown of the Pod before."""
    record, meta = events.record, pod.metadata
    if picture.is_overdue:
        record(POD, meta, OVERDUE, OVERDUE_MESSAGE, by=KUBELET)
    for container in pod.spec.containers:
        image = container.image
        match picture.reason:
            case "ErrImagePull":
                record(POD, meta, "Pulling", f'Pulling image "{image}"', by=KUBELET)
                failed = f'Failed to pull image "{image}": not found'
                record(POD, meta, "Failed", failed, by=KUBELET, type_="Warning")
            case "ImagePullBackOff":
                record(POD, meta, "BackOff", f'Back-off pulling image "{image}"', by=KUBELET)
            case "ContainerCreating":
                return
            case _ if is_new:
                pulled = f'Container image "{image}" already present on machine'
                record(POD, meta, "Pulled", pulled, by=KUBELET)
                record(POD, meta, "Created", f"Created container: {container.name}", by=KUBELET)
                record(POD, meta, "Started", f"Started container {container.name}", by=KUBELET)
        if picture.reason == "CrashLoopBackOff":
            message = f"Back-off restarting failed container {container.name} in pod {meta.name}_{meta.namespace}"
            record(POD, meta, "BackOff", message, by=KUBELET, type_="Warning")
