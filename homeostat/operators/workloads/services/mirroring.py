"""EndpointSlices for Endpoints that people write for a Service without a selector. Pure.

An address type and its ports have slices of their own, of at most 1000 addresses a subset, as in Kubernetes. Endpoints
that ask for none (`endpointslice.kubernetes.io/skip-mirror`) and those of a leader election are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

from homeostat.objects.declared import owner_reference
from homeostat.objects.json import JsonObject
from homeostat.objects.meta import LAST_APPLIED
from homeostat.operators.workloads.api import ENDPOINT_SLICE, ENDPOINTS, Workload
from homeostat.operators.workloads.services.decide import MANAGED_BY, MOST_ENDPOINTS, SERVICE_NAME, Decision, Slice
from homeostat.operators.workloads.services.endpoints import StoredEndpoints

MIRROR: Final = "endpointslicemirroring-controller.k8s.io"
_MOST_ADDRESSES: Final = 1000
_SKIP: Final = "endpointslice.kubernetes.io/skip-mirror"
_LEADER: Final = "control-plane.alpha.kubernetes.io/leader"
_NOT_COPIED: Final = (
    "endpoints.kubernetes.io/last-change-trigger-time",
    LAST_APPLIED,
)

Group = tuple[str, list[JsonObject], list[JsonObject]]
"""The address type, ports and endpoints of one slice."""


def is_mirrored(service: Workload | None, endpoints: StoredEndpoints | None) -> bool:
    if service is None or endpoints is None or service.spec.get("selector"):
        return False
    meta = endpoints.metadata
    return not meta.is_terminating and meta.labels.get(_SKIP) != "true" and _LEADER not in meta.annotations


def mirror(endpoints: StoredEndpoints, slices: Iterable[Slice]) -> Decision:
    """Equal slices stay, others of the address type and ports are updated: both are what a slice keeps for ever."""
    current, missing = list(slices), []
    for group in _groups(endpoints):
        equal = next((each for each in current if _facts(each) == group), None)
        if equal is None:
            missing.append(group)
        else:
            current.remove(equal)
    update: dict[str, JsonObject] = {}
    create: list[JsonObject] = []
    for group in missing:
        kept = next((each for each in current if _facts(each)[:2] == group[:2]), None)
        if kept is None:
            create.append(_slice(endpoints, group))
        else:
            current.remove(kept)
            update[kept.name] = {"endpoints": group[2]}
    return Decision(tuple(create), update, tuple(each.name for each in current))


def _facts(stored: Slice) -> Group:
    return stored.address_type, stored.ports or [], stored.endpoints or []


def _groups(endpoints: StoredEndpoints) -> list[Group]:
    groups: dict[str, Group] = {}
    for subset in endpoints.subsets or ():
        ports = [_port(each) for each in subset.get("ports") or ()]
        listed = [(each, True) for each in subset.get("addresses") or ()]
        listed += [(each, False) for each in subset.get("notReadyAddresses") or ()]
        for address, is_ready in listed[:_MOST_ADDRESSES]:
            try:
                parsed = ip_address(address["ip"])
            except ValueError:
                continue
            group = groups.setdefault(f"{parsed.version} {ports}", (f"IPv{parsed.version}", ports, []))
            group[2].append(_endpoint(address, str(parsed), is_ready=is_ready))
    return [
        (kind, ports, found[start : start + MOST_ENDPOINTS])
        for kind, ports, found in groups.values()
        for start in range(0, len(found), MOST_ENDPOINTS)
    ]


def _port(port: JsonObject) -> JsonObject:
    found: JsonObject = {
        "name": port.get("name") or "",
        "port": port["port"],
        "protocol": port.get("protocol") or "TCP",
    }
    return {**found, "appProtocol": port["appProtocol"]} if port.get("appProtocol") else found


def _endpoint(address: JsonObject, ip: str, *, is_ready: bool) -> JsonObject:
    found: JsonObject = {"addresses": [ip], "conditions": {"ready": is_ready}}
    return {**found, **{name: address[name] for name in ("hostname", "nodeName", "targetRef") if address.get(name)}}


def _slice(endpoints: StoredEndpoints, group: Group) -> JsonObject:
    meta = endpoints.metadata
    metadata: JsonObject = {
        "generateName": f"{meta.name}-",
        "namespace": meta.namespace,
        "labels": {**meta.labels, SERVICE_NAME: meta.name, MANAGED_BY: MIRROR},
        "ownerReferences": [owner_reference(ENDPOINTS, meta)],
    }
    if copied := {name: value for name, value in meta.annotations.items() if name not in _NOT_COPIED}:
        metadata["annotations"] = copied
    return {
        "apiVersion": ENDPOINT_SLICE.api_version,
        "kind": "EndpointSlice",
        "metadata": metadata,
        "addressType": group[0],
        "ports": group[1],
        "endpoints": group[2],
    }
