"""The fields of a Service about its addresses: which must agree, which follow, and which a write keeps. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final

from homeostat.objects.errors import Cause, duplicate, invalid, unsupported
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import integer, strings, struct, structs, text
from homeostat.server.kinds.builtins.value import check_address

HEADLESS: Final = "None"
ADDRESSED: Final = ("ClusterIP", "NodePort", "LoadBalancer")
"""The types that have a cluster address."""
ON_NODES: Final = ("NodePort", "LoadBalancer")
_FAMILIES: Final = ("IPv4", "IPv6")
_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_SINGLE, _REQUIRED = "SingleStack", "RequireDualStack"
_MOST: Final = 2


def is_addressed(spec: JsonObject) -> bool:
    return text(spec, "type") in ADDRESSED


def needs_health_port(spec: JsonObject) -> bool:
    return text(spec, "type") == "LoadBalancer" and text(spec, "externalTrafficPolicy") == "Local"


def has_node_ports(spec: JsonObject) -> bool:
    return text(spec, "type") in ON_NODES


def keep_allocated(spec: JsonObject, former: JsonObject) -> None:
    """Set what the server has allocated before and the writer left out. In place, but for the ports."""
    if is_addressed(spec) and is_addressed(former):
        if not text(spec, "clusterIP") and text(former, "clusterIP"):
            spec["clusterIP"] = former["clusterIP"]
        if not strings(spec, "clusterIPs") and spec.get("clusterIP") == former.get("clusterIP"):
            _set(spec, "clusterIPs", former.get("clusterIPs"))
    if has_node_ports(spec) and has_node_ports(former):
        _keep_node_ports(spec, former)
    if needs_health_port(spec) and needs_health_port(former) and not integer(spec, "healthCheckNodePort"):
        _set(spec, "healthCheckNodePort", former.get("healthCheckNodePort"))


def _set(spec: JsonObject, name: str, value: object) -> None:
    if value:
        spec[name] = value


def _keep_node_ports(spec: JsonObject, former: JsonObject) -> None:
    had = {_port_key(each): integer(each, "nodePort") for each in structs(former, "ports")}
    given = {integer(each, "nodePort") for each in structs(spec, "ports")}
    kept = []
    for port in structs(spec, "ports"):
        number = had.get(_port_key(port), 0)
        is_kept = number and not integer(port, "nodePort") and number not in given
        kept.append({**port, "nodePort": number} if is_kept else port)
    if kept != spec.get("ports") and len(kept) == len(spec.get("ports") or ()):
        spec["ports"] = kept


def _port_key(port: JsonObject) -> tuple[str, int]:
    return text(port, "protocol"), integer(port, "port")


def join_addresses(spec: JsonObject, former: JsonObject | None) -> None:
    """Make `clusterIPs` follow `clusterIP` if the writer set that alone. In place."""
    address, addresses = text(spec, "clusterIP"), strings(spec, "clusterIPs")
    is_unchanged = former is not None and addresses == strings(former, "clusterIPs")
    if address and (not addresses or (is_unchanged and address != addresses[0])):
        spec["clusterIPs"] = [address]


def settle_families(spec: JsonObject, former: JsonObject | None, family: str) -> list[Cause]:
    """Set `ipFamilyPolicy` and `ipFamilies` for a server whose addresses are of one family. In place.

    What is stored already stays valid, even if the server has another range now.
    """
    if spec.get("ipFamilyPolicy") is None:
        policy = text(former or {}, "ipFamilyPolicy")
        spec["ipFamilyPolicy"] = policy or (_REQUIRED if _is_free_of_families(spec) else _SINGLE)
    if former is not None and is_addressed(former) and _stated(spec) == _stated(former) and spec.get("ipFamilies"):
        return []
    if causes := _loose_causes(spec):
        return causes
    if causes := _policy_causes(spec) + _infer(spec, family):
        return causes
    if _is_free_of_families(spec):
        _complete_families(spec, family)
        return []
    if causes := _unserved(spec, family):
        return causes
    if not strings(spec, "ipFamilies"):
        spec["ipFamilies"] = [family]
    return []


def _stated(spec: JsonObject) -> tuple[object, ...]:
    return tuple(spec.get(name) for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "selector"))


def _is_free_of_families(spec: JsonObject) -> bool:
    """Its addresses are given by hand, and may be of both families."""
    return text(spec, "clusterIP") == HEADLESS and not struct(spec, "selector")


def _loose_causes(spec: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    families, addresses = strings(spec, "ipFamilies"), strings(spec, "clusterIPs")
    for index, each in enumerate(families):
        if each not in _FAMILIES:
            causes.append(unsupported(f"spec.ipFamilies[{index}]", each, _FAMILIES))
        elif each in families[:index]:
            causes.append(duplicate(f"spec.ipFamilies[{index}]", each))
    if text(spec, "ipFamilyPolicy") not in _POLICIES:
        causes.append(unsupported("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], _POLICIES))
    return causes + _address_causes(text(spec, "clusterIP"), addresses, families)


def _address_causes(address: str, addresses: Sequence[str], families: Sequence[str]) -> list[Cause]:
    at = "spec.clusterIPs"
    if not addresses:
        return []
    if not address:
        return [invalid(at, addresses, "must be empty when `clusterIP` is not specified")]
    causes: list[Cause] = []
    if addresses[0] != address:
        causes.append(invalid(at, addresses, "first value must match `clusterIP`"))
    if len(addresses) > _MOST:
        return [*causes, invalid(at, addresses, "may only hold up to 2 values")]
    found: list[str] = []
    for index, each in enumerate(addresses):
        path = f"{at}[{index}]"
        if each == HEADLESS:
            if len(addresses) > 1:
                causes.append(invalid(path, HEADLESS, "must be the only value when set to 'None'"))
            continue
        if wrong := check_address(each, path):
            causes += wrong
            continue
        found.append(family_of(each))
        if index < len(families) and families[index] != found[-1]:
            message = f"expected an {families[index]} value as indicated by `ipFamilies[{index}]`"
            causes.append(invalid(path, each, message))
    if not causes and len(set(found)) < len(found):
        causes.append(invalid(at, addresses, "may specify no more than one IP for each IP family"))
    return causes


def family_of(address: str) -> str:
    return f"IPv{ip_address(address).version}"


def _policy_causes(spec: JsonObject) -> list[Cause]:
    if text(spec, "ipFamilyPolicy") != _SINGLE:
        return []
    said = "must be 'RequireDualStack' or 'PreferDualStack' when multiple"
    return [
        invalid("spec.ipFamilyPolicy", _SINGLE, f"{said} {what} are specified")
        for name, what in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families"))
        if len(strings(spec, name)) == _MOST
    ]


def _infer(spec: JsonObject, family: str) -> list[Cause]:
    """The families of the given addresses."""
    families, addresses = list(strings(spec, "ipFamilies")), strings(spec, "clusterIPs")
    if HEADLESS in addresses:
        return []
    causes: list[Cause] = []
    for index, each in enumerate(addresses[len(families) :], len(families)):
        if (found := family_of(each)) == family:
            families.append(found)
        else:
            causes.append(invalid(f"spec.clusterIPs[{index}]", addresses, f"{found} is not configured on this cluster"))
    if families:
        spec["ipFamilies"] = families
    return causes


def _complete_families(spec: JsonObject, family: str) -> None:
    families = strings(spec, "ipFamilies") or [family]
    if len(families) < _MOST and text(spec, "ipFamilyPolicy") != _SINGLE:
        families = [families[0], "IPv6" if families[0] == "IPv4" else "IPv4"]
    spec["ipFamilies"] = list(families)


def _unserved(spec: JsonObject, family: str) -> list[Cause]:
    causes: list[Cause] = []
    if text(spec, "ipFamilyPolicy") == _REQUIRED:
        message = "this cluster is not configured for dual-stack services"
        causes.append(invalid("spec.ipFamilyPolicy", _REQUIRED, message))
    for index, each in enumerate(strings(spec, "ipFamilies")):
        if each != family:
            causes.append(invalid(f"spec.ipFamilies[{index}]", each, "not configured on this cluster"))
    return causes
