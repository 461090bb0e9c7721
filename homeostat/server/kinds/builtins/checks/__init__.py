"""Validation of the built-in kinds beyond their schema, as kube-apiserver does it.

These are the rules that people meet, with the messages and field paths of Kubernetes. `check` validates a new object,
`check_changed` an update, and `check_update` adds what an update may not change. None raises on any JSON. The rules of
a kind are imported with its first write: most planes have objects of few kinds, and an empty one starts without nearly
all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from homeostat.objects.errors import Cause
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.immutable import check_update

__all__ = ["MODULES", "check", "check_changed", "check_update"]

MODULES: dict[str, dict[str, str]] = {
    "": {
        "ConfigMap": "core",
        "Endpoints": "network",
        "Event": "core",
        "LimitRange": "quota",
        "Namespace": "core",
        "Node": "node",
        "PersistentVolume": "storage",
        "PersistentVolumeClaim": "storage",
        "Pod": "pods.pod",
        "PodTemplate": "pods.pod",
        "ReplicationController": "workload",
        "ResourceQuota": "quota",
        "Secret": "core",
        "Service": "network",
    },
    "admissionregistration.k8s.io": {
        "MutatingAdmissionPolicy": "admission",
        "MutatingAdmissionPolicyBinding": "admission",
        "MutatingWebhookConfiguration": "admission",
        "ValidatingAdmissionPolicy": "admission",
        "ValidatingAdmissionPolicyBinding": "admission",
        "ValidatingWebhookConfiguration": "admission",
    },
    "apiregistration.k8s.io": {"APIService": "registration"},
    "apps": {
        "ControllerRevision": "workload",
        "DaemonSet": "workload",
        "Deployment": "workload",
        "ReplicaSet": "workload",
        "StatefulSet": "workload",
    },
    "autoscaling": {"HorizontalPodAutoscaler": "autoscaler"},
    "batch": {"CronJob": "workload", "Job": "workload"},
    "certificates.k8s.io": {"CertificateSigningRequest": "certificate"},
    "coordination.k8s.io": {"Lease": "core"},
    "discovery.k8s.io": {"EndpointSlice": "network"},
    "events.k8s.io": {"Event": "core"},
    "flowcontrol.apiserver.k8s.io": {"FlowSchema": "flow", "PriorityLevelConfiguration": "flow"},
    "networking.k8s.io": {
        "Ingress": "ingress",
        "IngressClass": "ingress",
        "IPAddress": "network",
        "NetworkPolicy": "ingress",
        "ServiceCIDR": "network",
    },
    "node.k8s.io": {"RuntimeClass": "pods.pod"},
    "policy": {"PodDisruptionBudget": "workload"},
    "rbac.authorization.k8s.io": {
        "ClusterRole": "access",
        "ClusterRoleBinding": "access",
        "Role": "access",
        "RoleBinding": "access",
    },
    "resource.k8s.io": {
        "DeviceClass": "device",
        "ResourceClaim": "device",
        "ResourceClaimTemplate": "device",
        "ResourceSlice": "device",
    },
    "scheduling.k8s.io": {"PriorityClass": "core"},
    "storage.k8s.io": {
        "CSIDriver": "csi",
        "CSINode": "csi",
        "CSIStorageCapacity": "csi",
        "StorageClass": "storage",
        "VolumeAttachment": "csi",
        "VolumeAttributesClass": "csi",
    },
}
"""The module of this package whose `CHECKS` has the rules of a kind, by group."""

_Check = Callable[[JsonObject], list[Cause]]
_found: dict[tuple[str, str], _Check] = {}


def check(group: str, kind: str, obj: JsonObject) -> list[Cause]:
    """What is invalid about the object; nothing for kinds without rules of their own."""
    found = _found.get((group, kind))
    if found is None:
        found = _found[group, kind] = _check_of(group, kind)
    return found(obj)


def check_changed(group: str, kind: str, new: JsonObject, old: JsonObject) -> list[Cause]:
    """As `check`, but an update may keep what is invalid: it was valid when it was written, by the rules of then."""
    causes = check(group, kind, new)
    if not causes:
        return causes
    kept = set(check(group, kind, old))
    return [each for each in causes if each not in kept]


def _check_of(group: str, kind: str) -> _Check:
    module = MODULES.get(group, {}).get(kind)
    if module is None:
        return _check_nothing
    found: _Check = import_module(f"{__name__}.{module}").CHECKS[group, kind]
    return found


def _check_nothing(_: JsonObject) -> list[Cause]:
    return []
