"""The PersistentVolume that a claim is bound to. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import Workload

PROVISIONER: Final = "simulation.homeostat.dev/volumes"
BOUND: Final = "pv.kubernetes.io/bind-completed"
BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"


def waits(claim: Workload) -> bool:
    return not claim.metadata.is_terminating and (claim.status.get("phase") or "Pending") == "Pending"


def volume_name(claim: Workload) -> str:
    name: str = claim.spec.get("volumeName") or f"pvc-{claim.metadata.uid}"
    return name


def volume_for(claim: Workload) -> JsonObject:
    meta = claim.metadata
    requests = (claim.spec.get("resources") or {}).get("requests") or {}
    spec: JsonObject = {
        "accessModes": claim.spec.get("accessModes") or ["ReadWriteOnce"],
        "capacity": {"storage": requests.get("storage") or "1Gi"},
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "name": meta.name,
            "namespace": meta.namespace,
            "uid": meta.uid,
        },
        "hostPath": {"path": f"/simulated/{meta.namespace}/{meta.name}", "type": ""},
        "persistentVolumeReclaimPolicy": "Delete",
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


def claim_status(claim: Workload) -> JsonObject:
    requests = (claim.spec.get("resources") or {}).get("requests") or {}
    return {
        "phase": "Bound",
        "accessModes": claim.spec.get("accessModes") or ["ReadWriteOnce"],
        "capacity": {"storage": requests.get("storage") or "1Gi"},
    }
