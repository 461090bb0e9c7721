"""The Endpoints of a Service with a selector: the older form of EndpointSlices, which many clients still read. Pure.

Pods that are being deleted are left out, unless the Service publishes addresses that are not ready. Pods whose ports
have other numbers are in a subset of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.workloads.api import Meta, Pod, Workload
from homeostat.operators.workloads.services.decide import HEADLESS, endpoint_hostname, ports_of

MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
MANAGER: Final = "endpoint-controller"
MOST_ADDRESSES: Final = 1000
_OVER: Final = "endpoints.kubernetes.io/over-capacity"


class StoredEndpoints(msgspec.Struct, frozen=True):
    """Endpoints as the cache has them."""

    metadata: Meta
    subsets: Json = None

    @property
    def is_ours(self) -> bool:
        return self.metadata.labels.get(MANAGED_BY) == MANAGER


def endpoints_of(service: Workload, pods: Iterable[Pod]) -> JsonObject:
    subsets, is_truncated = _subsets(service, pods)
    labels = {**service.metadata.labels, MANAGED_BY: MANAGER}
    if service.spec.get("clusterIP") == "None":
        labels[HEADLESS] = ""
    metadata: JsonObject = {
        "name": service.metadata.name,
        "namespace": service.metadata.namespace,
        "labels": labels,
        "annotations": {_OVER: "truncated"} if is_truncated else {},
    }
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets}


def changes(found: StoredEndpoints, wanted: JsonObject) -> JsonObject | None:
    """The merge patch that makes the Endpoints equal; None if they are."""
    metadata, labels = wanted["metadata"], found.metadata.labels
    over = metadata["annotations"].get(_OVER)
    is_same = (found.subsets or []) == wanted["subsets"] and labels == metadata["labels"]
    if is_same and found.metadata.annotations.get(_OVER) == over:
        return None
    gone = dict.fromkeys(labels.keys() - metadata["labels"].keys())
    patch = {"labels": {**metadata["labels"], **gone}, "annotations": {_OVER: over}}
    return {"metadata": patch, "subsets": wanted["subsets"] or None}


def _subsets(service: Workload, pods: Iterable[Pod]) -> tuple[list[JsonObject], bool]:
    publishes = bool(service.spec.get("publishNotReadyAddresses"))
    groups: dict[str, tuple[list[JsonObject], list[JsonObject], list[JsonObject]]] = {}
    listed = [
        each
        for each in pods
        if each.status.pod_ip and not each.is_finished and (publishes or not each.metadata.is_terminating)
    ]
    # Those that are ready come first, so that they are the last to be left out.
    listed.sort(key=lambda each: (not (publishes or each.is_ready), each.status.pod_ip))
    for pod in listed[:MOST_ADDRESSES]:
        ports = ports_of(service, pod)
        if service.spec.get("ports") and not ports:
            continue
        group = groups.setdefault(repr(ports), (ports, [], []))
        group[1 if publishes or pod.is_ready else 2].append(_address(service, pod))
    found = [_subset(*groups[each]) for each in sorted(groups)]
    return found, len(listed) > MOST_ADDRESSES


def _subset(ports: list[JsonObject], ready: list[JsonObject], unready: list[JsonObject]) -> JsonObject:
    parts = {"addresses": ready, "notReadyAddresses": unready, "ports": [_named(each) for each in ports]}
    return {name: value for name, value in parts.items() if value}


def _named(port: JsonObject) -> JsonObject:
    """Here an empty name is left out."""
    return {name: value for name, value in port.items() if name != "name" or value}


def _address(service: Workload, pod: Pod) -> JsonObject:
    meta = pod.metadata
    address: JsonObject = {"ip": pod.status.pod_ip}
    if pod.spec.node_name:
        address["nodeName"] = pod.spec.node_name
    if hostname := endpoint_hostname(service, pod):
        address["hostname"] = hostname
    address["targetRef"] = {"kind": "Pod", "namespace": meta.namespace, "name": meta.name, "uid": meta.uid}
    return address
