"""Sets fields of an object that depend on its name, its uid or its state before the write, and its first status."""

from __future__ import annotations

from collections.abc import Callable

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.defaults.core import start_namespace
from homeostat.server.kinds.builtins.defaults.network import complete_service, default_balancer_status
from homeostat.server.kinds.builtins.defaults.qos import qos_class
from homeostat.server.kinds.builtins.defaults.storage import default_phase, normalize_claim, start_claim
from homeostat.server.kinds.builtins.members import ensure_struct, items, struct, structs, text


def _select_own_pods(obj: JsonObject) -> None:
    """Select the job's pods by its uid, unless it has a manual selector."""
    metadata, spec = struct(obj, "metadata"), struct(obj, "spec")
    uid, name = metadata.get("uid"), metadata.get("name")
    template = spec.get("template")
    if spec.get("manualSelector") is True or spec.get("selector") or not uid or not isinstance(template, dict):
        if (labels := struct(spec, "template", "metadata").get("labels")) and not metadata.get("labels"):
            metadata["labels"] = dict(labels)
        return
    pod_metadata = ensure_struct(template, "metadata")
    labels = ensure_struct(pod_metadata, "labels") if pod_metadata is not None else None
    if labels is None:
        return
    for prefix in ("", "batch.kubernetes.io/"):
        labels.setdefault(f"{prefix}controller-uid", uid)
        labels.setdefault(f"{prefix}job-name", name)
    spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    metadata.setdefault("labels", dict(labels))


def _count_nothing(*names: str) -> Callable[[JsonObject], None]:
    """Set an empty status with zero counts: Go always encodes them, and clients rely on it."""

    def complete(obj: JsonObject) -> None:
        if (status := ensure_struct(obj, "status")) is not None:
            for name in names:
                status.setdefault(name, 0)

    return complete


_GATED: JsonObject = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
    "lastProbeTime": None,
    "lastTransitionTime": None,
}


def _start_pod(obj: JsonObject) -> None:
    default_phase(obj)
    if (status := ensure_struct(obj, "status")) is not None:
        status.setdefault("qosClass", qos_class(obj))
        if items(struct(obj, "spec"), "schedulingGates"):
            status.setdefault("conditions", [dict(_GATED)])


def _start_job(obj: JsonObject) -> None:
    _select_own_pods(obj)
    _count_nothing()(obj)


def _start_attachment(obj: JsonObject) -> None:
    if (status := ensure_struct(obj, "status")) is not None:
        status.setdefault("attached", False)


def _keep_class(obj: JsonObject, old: JsonObject) -> None:
    status = ensure_struct(obj, "status")
    if status is None:
        return
    if not status.get("qosClass"):
        status["qosClass"] = struct(old, "status").get("qosClass") or qos_class(obj)
    if "podIP" in status or "podIPs" in status:
        _match_addresses(status)


def _match_addresses(status: JsonObject) -> None:
    """`podIP` is the first of `podIPs`; a client that knows but one of them writes that."""
    address, listed = text(status, "podIP"), structs(status, "podIPs")
    first = text(listed[0], "ip") if listed else ""
    if address and address != first:
        status["podIPs"] = [{"ip": address}]
    elif first and not address:
        status["podIP"] = first


def _keep_counts(*names: str) -> Callable[[JsonObject, JsonObject], None]:
    count = _count_nothing(*names)
    return lambda obj, _: count(obj)


UPDATED: dict[tuple[str, str], Callable[[JsonObject, JsonObject], None]] = {
    ("", "Pod"): _keep_class,
    ("", "PersistentVolumeClaim"): lambda obj, _: normalize_claim(obj),
    ("", "Service"): complete_service,
    ("networking.k8s.io", "Ingress"): lambda obj, _: default_balancer_status(obj),
    ("apps", "StatefulSet"): _keep_counts("replicas", "availableReplicas"),
    ("apps", "ReplicaSet"): _keep_counts("replicas"),
    ("", "ReplicationController"): _keep_counts("replicas"),
    ("autoscaling", "HorizontalPodAutoscaler"): _keep_counts("desiredReplicas"),
}
INITIAL = {
    ("", "Namespace"): start_namespace,
    ("", "Pod"): _start_pod,
    ("", "PersistentVolume"): default_phase,
    ("", "PersistentVolumeClaim"): start_claim,
    ("", "Service"): default_balancer_status,
    ("networking.k8s.io", "Ingress"): default_balancer_status,
    ("batch", "Job"): _start_job,
    ("batch", "CronJob"): _count_nothing(),
    ("apps", "Deployment"): _count_nothing(),
    ("apps", "ReplicaSet"): _count_nothing("replicas"),
    ("apps", "StatefulSet"): _count_nothing("replicas", "availableReplicas"),
    ("apps", "DaemonSet"): _count_nothing(
        "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"
    ),
    ("", "ReplicationController"): _count_nothing("replicas"),
    ("", "ResourceQuota"): _count_nothing(),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): _count_nothing(),
    ("certificates.k8s.io", "CertificateSigningRequest"): _count_nothing(),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): _count_nothing(),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): _count_nothing(),
    ("networking.k8s.io", "ServiceCIDR"): _count_nothing(),
    ("resource.k8s.io", "ResourceClaim"): _count_nothing(),
    ("storage.k8s.io", "VolumeAttachment"): _start_attachment,
    ("autoscaling", "HorizontalPodAutoscaler"): _count_nothing("desiredReplicas"),
    ("policy", "PodDisruptionBudget"): _count_nothing(
        "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"
    ),
}
