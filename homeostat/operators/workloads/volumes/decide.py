"""The PersistentVolume that a claim is bound to: the one that it names, or one made for it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import Workload

PROVISIONER: Final = "simulation.homeostat.dev/volumes"
UNBOUND: Final = "unbound"
BOUND: Final = "pv.kubernetes.io/bind-completed"
BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"


def waits(claim: Workload) -> bool:
    return not claim.metadata.is_terminating and (claim.status.get("phase") or "Pending") == "Pending"


def volume_name(claim: Workload) -> str:
    name: str = claim.spec.get("volumeName") or f"pvc-{claim.metadata.uid}"
    return name


def unbound_keys(claim: Workload) -> tuple[str, ...]:
    return (UNBOUND,) if waits(claim) else ()


CLAIM_INDEXES: Final[Mapping[str, Callable[[Workload], tuple[str, ...]]]] = {
    UNBOUND: unbound_keys,
}


def is_free_for(volume: Workload, claim: Workload) -> bool:
    """Whether the volume is nobody's, reserved for this claim by name, or bound to it already."""
    if volume.metadata.is_terminating:
        return False
    found = volume.spec.get("claimRef")
    if not found:
        return True
    is_named = (found.get("namespace"), found.get("name")) == claim.key
    return is_named and found.get("uid") in (None, "", claim.metadata.uid)


def claim_reference(claim: Workload) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "name": claim.metadata.name,
        "namespace": claim.metadata.namespace,
        "uid": claim.metadata.uid,
    }


def volume_for(claim: Workload, reclaim_policy: str) -> JsonObject:
    meta = claim.metadata
    requests = (claim.spec.get("resources") or {}).get("requests") or {}
    spec: JsonObject = {
        "accessModes": claim.spec.get("accessModes") or ["ReadWriteOnce"],
        "capacity": {"storage": requests.get("storage") or "1Gi"},
        "claimRef": claim_reference(claim),
        "hostPath": {"path": f"/simulated/{meta.namespace}/{meta.name}", "type": ""},
        "persistentVolumeReclaimPolicy": reclaim_policy,
        "volumeMode": claim.spec.get("volumeMode") or "Filesystem",
    }
    if name := claim.spec.get("storageClassName"):
        spec["storageClassName"] = name
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": volume_name(claim),
            "annotations": {"pv.kubernetes.io/provisioned-by": PROVISIONER},
        },
        "spec": spec,
    }


def claim_status(volume: JsonObject) -> JsonObject:
    """Of a claim that is bound to a volume with this spec."""
    return {
        "phase": "Bound",
        "accessModes": volume.get("accessModes") or ["ReadWriteOnce"],
        "capacity": volume.get("capacity") or {},
    }
