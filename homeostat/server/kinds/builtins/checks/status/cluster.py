"""Statuses of Nodes, claims and Ingresses."""

from __future__ import annotations

from homeostat.objects.errors import Cause, duplicate, invalid, unsupported
from homeostat.objects.identifiers import dns1123_subdomain, qualified_name
from homeostat.objects.json import Json, JsonObject
from homeostat.server.kinds.builtins.members import numbered, struct, text
from homeostat.server.kinds.builtins.value import check_address, check_text, quantity_of

_RESIZES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizePending",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
)
_CLAIMED = "storage"


def _check_node(new: JsonObject, _: JsonObject) -> list[Cause]:
    seen: set[tuple[str, str]] = set()
    causes: list[Cause] = []
    for at, address in numbered(struct(new, "status"), "addresses", "status"):
        key = text(address, "type"), text(address, "address")
        if key in seen:
            causes.append(duplicate(at, address))
        seen.add(key)
    return causes


def _check_claim(new: JsonObject, _: JsonObject) -> list[Cause]:
    status = struct(new, "status")
    causes = [
        cause
        for member in ("capacity", "allocatedResources")
        for name, value in struct(status, member).items()
        for cause in _check_not_negative(value, f"status.{member}[{name}]")
    ]
    for member in ("allocatedResources", "allocatedResourceStatuses"):
        for name in struct(status, member):
            causes += _check_claimed(name, f"status.{member}")
    for state in struct(status, "allocatedResourceStatuses").values():
        if state not in _RESIZES:
            causes.append(unsupported("status.allocatedResourceStatuses", state, _RESIZES))
    return causes


def _check_not_negative(value: Json, path: str) -> list[Cause]:
    amount = quantity_of(value)
    return [] if amount is None or amount.nanos >= 0 else [invalid(path, value, "must be a valid resource quantity")]


def _check_claimed(name: str, path: str) -> list[Cause]:
    if causes := check_text(name, path, qualified_name):
        return causes
    is_known = name == _CLAIMED or ("/" in name and "kubernetes.io/" not in name)
    return [] if is_known else [unsupported(path, name, (_CLAIMED,))]


def _check_ingress(new: JsonObject, _: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    for at, each in numbered(struct(new, "status", "loadBalancer"), "ingress", "status.loadBalancer"):
        if address := text(each, "ip"):
            causes += check_address(address, f"{at}.ip")
        if host := text(each, "hostname"):
            causes += check_text(host, f"{at}.hostname", dns1123_subdomain)
    return causes


CHECKS = {
    ("", "Node"): _check_node,
    ("", "PersistentVolumeClaim"): _check_claim,
    ("networking.k8s.io", "Ingress"): _check_ingress,
}
