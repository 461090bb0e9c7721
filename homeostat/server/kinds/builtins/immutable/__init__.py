"""The immutable fields of built-in kinds. `check_metadata_update` checks the metadata."""

from __future__ import annotations

from collections.abc import Callable

from homeostat.objects.errors import Cause
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.immutable import kinds
from homeostat.server.kinds.builtins.immutable.pod import check_pod_update

_RBAC, _STORAGE, _DEVICES = "rbac.authorization.k8s.io", "storage.k8s.io", "resource.k8s.io"
_CHECKS: dict[tuple[str, str], Callable[[JsonObject, JsonObject], list[Cause]]] = {
    ("", "Pod"): check_pod_update,
    ("", "Namespace"): kinds.namespace,
    ("", "Node"): kinds.node,
    ("", "ConfigMap"): kinds.config_map,
    ("", "Secret"): kinds.secret,
    ("", "Service"): kinds.service,
    ("", "PersistentVolume"): kinds.volume,
    ("", "PersistentVolumeClaim"): kinds.claim,
    ("", "ResourceQuota"): kinds.resource_quota,
    ("events.k8s.io", "Event"): kinds.event,
    ("apps", "Deployment"): kinds.selector,
    ("apps", "ReplicaSet"): kinds.selector,
    ("apps", "DaemonSet"): kinds.selector,
    ("apps", "StatefulSet"): kinds.stateful_set,
    ("apps", "ControllerRevision"): kinds.controller_revision,
    ("batch", "Job"): kinds.job,
    ("discovery.k8s.io", "EndpointSlice"): kinds.endpoint_slice,
    ("networking.k8s.io", "IngressClass"): kinds.ingress_class,
    ("scheduling.k8s.io", "PriorityClass"): kinds.priority_class,
    (_RBAC, "RoleBinding"): kinds.binding,
    (_RBAC, "ClusterRoleBinding"): kinds.binding,
    (_STORAGE, "StorageClass"): kinds.storage_class,
    (_STORAGE, "VolumeAttachment"): kinds.attachment,
    (_STORAGE, "CSIDriver"): kinds.csi_driver,
    (_STORAGE, "CSINode"): kinds.csi_node,
    (_STORAGE, "CSIStorageCapacity"): kinds.storage_capacity,
    (_STORAGE, "VolumeAttributesClass"): kinds.attributes_class,
    ("certificates.k8s.io", "CertificateSigningRequest"): kinds.signing_request,
    ("node.k8s.io", "RuntimeClass"): kinds.runtime_class,
    ("networking.k8s.io", "IPAddress"): kinds.ip_address,
    ("networking.k8s.io", "ServiceCIDR"): kinds.service_cidr,
    (_DEVICES, "ResourceClaim"): kinds.resource_claim,
    (_DEVICES, "ResourceClaimTemplate"): kinds.claim_template,
    (_DEVICES, "ResourceSlice"): kinds.resource_slice,
}


def check_update(group: str, kind: str, new: JsonObject, old: JsonObject) -> list[Cause]:
    """What is invalid about replacing `old` with `new`, in addition to the rules of `check`."""
    found = _CHECKS.get((group, kind))
    return found(new, old) if found else []
