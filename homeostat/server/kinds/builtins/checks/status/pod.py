"""The status of a Pod, which kubelets write often: what did not change is not checked again."""

from __future__ import annotations

from homeostat.objects.errors import Cause, invalid
from homeostat.objects.identifiers import dns1123_subdomain, qualified_name
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import items, numbered, struct, structs, text
from homeostat.server.kinds.builtins.value import check_address, check_counts, check_text

_NOT_NEGATIVE = "must be a non-negative integer"
_USUAL = frozenset({"PodScheduled", "Ready", "Initialized", "ContainersReady", "PodReadyToStartContainers"})
_TOO_MANY = "may specify no more than one IP for each IP family"


def _check_pod(new: JsonObject, old: JsonObject) -> list[Cause]:
    status, former = struct(new, "status"), struct(old, "status")
    causes: list[Cause] = []
    for index, condition in enumerate(structs(status, "conditions")):
        kind = condition.get("type")
        if kind not in _USUAL:
            causes += check_text(text(condition, "type"), f"status.conditions[{index}].Type", qualified_name)
        if "observedGeneration" in condition:
            causes += _check_generation(condition, f"status.conditions[{index}]")
    if status.get("podIPs") != former.get("podIPs"):
        causes += _check_addresses(status, "podIPs")
    if status.get("hostIPs") != former.get("hostIPs") or status.get("hostIP") != former.get("hostIP"):
        causes += _check_host(status)
    if node := text(status, "nominatedNodeName"):
        causes += check_text(node, "status.nominatedNodeName", dns1123_subdomain)
    if "qosClass" in status and "qosClass" in former and status["qosClass"] != former["qosClass"]:
        causes.append(invalid("status.qosClass", status["qosClass"], "field is immutable"))
    if "observedGeneration" in status:
        causes += _check_generation(status, "status")
    return causes + _check_claims(new, status) if "resourceClaimStatuses" in status else causes


def _check_generation(holder: JsonObject, path: str) -> list[Cause]:
    causes = check_counts(holder, path, "observedGeneration")
    return [invalid(each.field, holder["observedGeneration"], _NOT_NEGATIVE) for each in causes]


def _check_host(status: JsonObject) -> list[Cause]:
    addresses = structs(status, "hostIPs")
    if not addresses:
        return []
    causes: list[Cause] = []
    if text(addresses[0], "ip") != text(status, "hostIP"):
        causes.append(invalid("status.hostIPs[0].ip", text(addresses[0], "ip"), "must be equal to `hostIP`"))
    return causes + _check_addresses(status, "hostIPs")


def _check_addresses(status: JsonObject, name: str) -> list[Cause]:
    causes: list[Cause] = []
    families: list[bool] = []
    for at, address in numbered(status, name, "status"):
        causes += check_address(text(address, "ip"), at)
        families.append(":" in text(address, "ip"))
    if not causes and len(set(families)) < len(families):
        causes.append(invalid(f"status.{name}", items(status, name), _TOO_MANY))
    return causes


def _check_claims(pod: JsonObject, status: JsonObject) -> list[Cause]:
    names = {text(each, "name") for each in structs(struct(pod, "spec"), "resourceClaims")}
    told = "must match the name of an entry in `spec.resourceClaims`"
    return [
        invalid(f"{at}.name", text(each, "name"), told)
        for at, each in numbered(status, "resourceClaimStatuses", "status")
        if text(each, "name") not in names
    ]


CHECKS = {("", "Pod"): _check_pod}
