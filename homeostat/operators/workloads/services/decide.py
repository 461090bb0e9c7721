"""The EndpointSlices of a Service with a selector. Pure.

A slice has at most 100 endpoints and one address type (IPv4). Named target ports are looked up in the containers; Pods
whose port has another number get a slice of their own, as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from homeostat.objects.declared import owner_reference
from homeostat.objects.json import Json, JsonObject
from homeostat.operators.workloads.api import ENDPOINT_SLICE, SERVICE, Pod, Workload

MANAGER: Final = "endpointslice-controller.k8s.io"
MOST_ENDPOINTS: Final = 100
SERVICE_NAME: Final = "kubernetes.io/service-name"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
HEADLESS: Final = "service.kubernetes.io/headless"
_UNREADY: Final = "publishNotReadyAddresses"


class Slice(msgspec.Struct, frozen=True):
    """An EndpointSlice as the cache has it."""

    name: str
    ports: Json
    endpoints: Json
    address_type: str = "IPv4"


class Decision(msgspec.Struct, frozen=True):
    create: tuple[JsonObject, ...] = ()
    update: dict[str, JsonObject] = {}
    """Merge patches by name."""
    delete: tuple[str, ...] = ()


def has_slices(service: Workload) -> bool:
    return bool(service.spec.get("selector")) and service.spec.get("type") != "ExternalName"


def decide(service: Workload, pods: Iterable[Pod], slices: Sequence[Slice]) -> Decision:
    wanted = _wanted(service, pods) if not service.metadata.is_terminating else []
    current = list(slices)
    if not wanted:
        wanted = [([], [])] if not service.metadata.is_terminating else []
    update: dict[str, JsonObject] = {}
    create: list[JsonObject] = []
    for ports, endpoints in wanted:
        match = _closest(current, ports, endpoints)
        if match is None:
            create.append(_slice(service, ports, endpoints))
            continue
        current.remove(match)
        if (match.ports or []) != ports or (match.endpoints or []) != endpoints:
            update[match.name] = {"ports": ports, "endpoints": endpoints}
    return Decision(tuple(create), update, tuple(each.name for each in current))


def _closest(slices: Sequence[Slice], ports: Json, endpoints: Json) -> Slice | None:
    """The slice that needs the fewest changes: an equal one, one with the same ports, any."""
    for each in slices:
        if (each.ports or []) == ports and (each.endpoints or []) == endpoints:
            return each
    same = [each for each in slices if (each.ports or []) == ports]
    return same[0] if same else (slices[0] if slices else None)


def _wanted(service: Workload, pods: Iterable[Pod]) -> list[tuple[list[JsonObject], list[JsonObject]]]:
    groups: dict[str, tuple[list[JsonObject], list[JsonObject]]] = {}
    publishes_unready = bool(service.spec.get(_UNREADY))
    for pod in sorted(pods, key=lambda each: each.metadata.name):
        if not pod.status.pod_ip or pod.is_finished:
            continue
        ports = ports_of(service, pod)
        group = groups.setdefault(repr(ports), (ports, []))
        group[1].append(_endpoint(service, pod, publishes_unready=publishes_unready))
    return [
        (ports, endpoints[start : start + MOST_ENDPOINTS])
        for ports, endpoints in groups.values()
        for start in range(0, len(endpoints), MOST_ENDPOINTS)
    ]


def ports_of(service: Workload, pod: Pod) -> list[JsonObject]:
    found = []
    for port in service.spec.get("ports") or ():
        number = target_port(port, pod)
        if number is None:
            continue
        each: JsonObject = {"name": port.get("name") or "", "port": number, "protocol": port.get("protocol") or "TCP"}
        if port.get("appProtocol"):
            each["appProtocol"] = port["appProtocol"]
        found.append(each)
    return found


def target_port(port: JsonObject, pod: Pod) -> int | None:
    """The number of the port of the Pod; None if no container has the named one."""
    target = port.get("targetPort") or port.get("port")
    if isinstance(target, int):
        return target
    protocol = port.get("protocol") or "TCP"
    for container in pod.spec.containers:
        for each in container.ports:
            if each.name == target and each.protocol == protocol:
                return each.container_port
    return None


def _endpoint(service: Workload, pod: Pod, *, publishes_unready: bool) -> JsonObject:
    is_terminating = pod.metadata.is_terminating
    serves = pod.is_ready
    endpoint: JsonObject = {
        "addresses": [pod.status.pod_ip],
        "conditions": {
            "ready": publishes_unready or (serves and not is_terminating),
            "serving": serves,
            "terminating": is_terminating,
        },
        "nodeName": pod.spec.node_name,
        "targetRef": {
            "kind": "Pod",
            "namespace": pod.metadata.namespace,
            "name": pod.metadata.name,
            "uid": pod.metadata.uid,
        },
    }
    if hostname := endpoint_hostname(service, pod):
        endpoint["hostname"] = hostname
    return endpoint


def endpoint_hostname(service: Workload, pod: Pod) -> str:
    """The name of a Pod in the domain of a Service; empty if it has none."""
    return pod.spec.hostname if pod.spec.subdomain == service.metadata.name else ""


def _slice(service: Workload, ports: Json, endpoints: Json) -> JsonObject:
    labels = {**service.metadata.labels, SERVICE_NAME: service.metadata.name, MANAGED_BY: MANAGER}
    if service.spec.get("clusterIP") == "None":
        labels[HEADLESS] = ""
    return {
        "apiVersion": ENDPOINT_SLICE.api_version,
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": f"{service.metadata.name}-",
            "namespace": service.metadata.namespace,
            "labels": labels,
            "ownerReferences": [owner_reference(SERVICE, service.metadata)],
        },
        "addressType": "IPv4",
        "ports": ports,
        "endpoints": endpoints,
    }
