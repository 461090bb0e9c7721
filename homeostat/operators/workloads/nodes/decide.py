"""What a simulated Node is: the object that is created, its status, and its Lease. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import GROUP, Workload
from homeostat.operators.workloads.nodes.failure import failed_conditions, foreign_conditions

VERSION: Final = "v1.34.4"
LEASE_S: Final = 40
_CONDITIONS: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def node_name(number: int) -> str:
    return f"node-{number + 1}"


def address_of(number: int) -> str:
    """The internal address of the Node of this number, in 172.16.0.0/12."""
    number += 1
    return f"172.{16 + (number >> 16 & 15)}.{number >> 8 & 255}.{number & 255}"


def internal_address(node: Workload) -> str:
    found = (each.get("address") for each in node.status.get("addresses") or () if each.get("type") == "InternalIP")
    return next(found, None) or ""


def new_node(number: int) -> JsonObject:
    name = node_name(number)
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        f"{GROUP}/node": "true",
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def decide(node: Workload, size: dict[str, str], *, address: str, now: str) -> JsonObject | None:
    """The status of a Node that has none of a kubelet yet, or that fails or recovers; None if it stays as it is."""
    if node.metadata.is_terminating:
        return None
    found = {each.get("type"): each.get("status") for each in node.status.get("conditions") or ()}
    capacity = node.status.get("capacity") or size
    if "Ready" in found and node.status.get("allocatable") and node.status.get("addresses"):
        changed = failed_conditions(node, _conditions(now), now)
        return None if changed is None else {"conditions": changed}
    return {
        "capacity": capacity,
        "allocatable": node.status.get("allocatable") or capacity,
        "addresses": node.status.get("addresses")
        or [
            {"type": "InternalIP", "address": address},
            {"type": "Hostname", "address": node.metadata.name},
        ],
        "conditions": [*(usual := _conditions(now)), *foreign_conditions(node, usual)],
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": "",
            "containerRuntimeVersion": "simulated://1.0",
            "kernelVersion": "simulated",
            "kubeProxyVersion": "",
            "kubeletVersion": VERSION,
            "machineID": "",
            "operatingSystem": "linux",
            "osImage": "simulated",
            "systemUUID": "",
        },
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
    }


def _conditions(now: str) -> list[JsonObject]:
    """Of a Node that is well."""
    times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
    return [
        {"type": kind, "status": status, "reason": reason, "message": message, **times}
        for kind, status, reason, message in _CONDITIONS
    ]


def lease_of(node: Workload, now: str) -> JsonObject:
    """`now` in microseconds."""
    name = node.metadata.name
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node.metadata.uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": "kube-node-lease", "ownerReferences": [owner]},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": LEASE_S, "renewTime": now},
    }
