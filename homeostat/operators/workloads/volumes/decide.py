"""The PersistentVolume that a claim is bound to: the one that it names, or one made for it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import Workload

PROVISIONER: Final = "simulation.homeostat.dev/volumes"
UNBOUND: Final = "unbound"
OFFERED: Final = "offered"
BOUND: Final = "pv.kubernetes.io/bind-completed"
BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"


def waits(claim: Workload) -> bool:
    return not claim.metadata.is_terminating and (claim.status.get("phase") or "Pending") == "Pending"


def volume_name(claim: Workload) -> str:
    name: str = claim.spec.get("volumeName") or f"pvc-{claim.metadata.uid}"
    return name


def class_key(spec: JsonObject) -> Hashable:
    """Of a claim or a volume: only those of one class fit."""
    return "class", spec.get("storageClassName") or ""


def named_key(volume: str) -> Hashable:
    return "volume", volume


def reserved_key(namespace: str, claim: str) -> Hashable:
    return "claim", namespace, claim


def unbound_keys(claim: Workload) -> tuple[Hashable, ...]:
    """What a waiting claim waits for: the volume that it names, or one of its class."""
    if not waits(claim):
        return ()
    name = claim.spec.get("volumeName")
    return (named_key(name) if name else class_key(claim.spec),)


def offered_keys(volume: Workload) -> tuple[Hashable, ...]:
    """Who may have the volume: the claim that it names, or any of its class."""
    if volume.metadata.is_terminating:
        return ()
    found = volume.spec.get("claimRef")
    return (reserved_key(found.get("namespace") or "", found.get("name") or "") if found else class_key(volume.spec),)


Indexes = Mapping[str, Callable[[Workload], tuple[Hashable, ...]]]
CLAIM_INDEXES: Final[Indexes] = {UNBOUND: unbound_keys}
VOLUME_INDEXES: Final[Indexes] = {OFFERED: offered_keys}


def offers_more(old: Workload | None, new: Workload | None) -> bool:
    """Whether a change of a volume may let a claim have it that could not before."""
    if new is None or new.metadata.is_terminating:
        return False
    return old is None or (old.spec, old.metadata.labels) != (new.spec, new.metadata.labels)


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
            "finalizers": ["kubernetes.io/pv-protection"],
        },
        "spec": spec,
    }


def claim_status(volume: JsonObject) -> JsonObject:
    """Of a claim that is bound to a volume with this spec."""
    status: JsonObject = {
        "phase": "Bound",
        "accessModes": volume.get("accessModes") or ["ReadWriteOnce"],
        "capacity": volume.get("capacity") or {},
    }
    if name := volume.get("volumeAttributesClassName"):
        status["currentVolumeAttributesClassName"] = name
    return status
