"""What Services, their endpoints, IPAddresses and ServiceCIDRs may look like."""

from __future__ import annotations

import ipaddress

from homeostat.objects.errors import Cause, duplicate, forbidden, invalid, required, unsupported
from homeostat.objects.identifiers import dns1123_label, dns1123_subdomain, label_value, path_segment, qualified_name
from homeostat.objects.json import JsonObject
from homeostat.objects.names import check_labels
from homeostat.server.kinds.builtins.members import integer, items, numbered, strings, struct, text
from homeostat.server.kinds.builtins.value import (
    check_address,
    check_choice,
    check_port,
    check_port_or_name,
    check_protocol,
    check_required,
    check_text,
)

_DISTRIBUTIONS = ("PreferClose", "PreferSameNode", "PreferSameZone")
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_MAX_AFFINITY_SECONDS = 86400
_MAX_ADDRESSES, _MAX_ENDPOINTS, _MAX_RANGES = 100, 1000, 2


def _check_service(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    kind, address = text(spec, "type"), text(spec, "clusterIP")
    causes: list[Cause] = []
    if not items(spec, "ports") and address != "None" and kind != "ExternalName":
        causes.append(required("spec.ports"))
    causes += _check_type(spec, kind, address)
    causes += _check_ports(spec, kind)
    causes += check_labels(spec.get("selector"), "spec.selector")
    causes += check_choice(spec, "sessionAffinity", "spec", ("ClientIP", "None"))
    causes += _check_affinity(spec)
    for index, each in enumerate(strings(spec, "externalIPs")):
        at = f"spec.externalIPs[{index}]"
        causes += check_address(each, at) or _check_external(each, at)
    causes += check_choice(spec, "internalTrafficPolicy", "spec", ("Cluster", "Local"))
    causes += check_choice(spec, "trafficDistribution", "spec", _DISTRIBUTIONS)
    causes += _check_families(spec, kind)
    causes += _check_external_policy(spec, kind)
    causes += _check_balanced(spec, kind)
    causes += _check_balancer(struct(obj, "status", "loadBalancer"), kind)
    return causes + check_choice(spec, "type", "spec", _TYPES)


def _check_external(address: str, path: str) -> list[Cause]:
    """No address that means something else on every machine."""
    found = ipaddress.ip_address(address)
    causes: list[Cause] = []
    for is_special, told in (
        (found.is_unspecified, f"may not be unspecified ({address})"),
        (found.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (found.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (found.is_multicast and address.startswith("224.0.0."), "may not be in the link-local multicast range"),
    ):
        if is_special:
            causes.append(invalid(path, address, told))
    return causes


def _check_families(spec: JsonObject, kind: str) -> list[Cause]:
    if kind != "ExternalName":
        return check_choice(spec, "ipFamilyPolicy", "spec", ("PreferDualStack", "RequireDualStack", "SingleStack"))
    message = "may not be set for ExternalName services"
    names = ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
    return [forbidden(f"spec.{name}", message) for name in names if spec.get(name) not in (None, [])]


def _check_external_policy(spec: JsonObject, kind: str) -> list[Cause]:
    policy = text(spec, "externalTrafficPolicy")
    has_addresses = kind == "ClusterIP" and bool(items(spec, "externalIPs"))
    if kind in ("LoadBalancer", "NodePort") or has_addresses:
        return check_choice(spec, "externalTrafficPolicy", "spec", ("Cluster", "Local"))
    message = "may only be set for externally-accessible services"
    return [invalid("spec.externalTrafficPolicy", policy, message)] if policy else []


def _check_ranges(spec: JsonObject, kind: str) -> list[Cause]:
    """Kubernetes capitalizes the field."""
    at, ranges = "spec.LoadBalancerSourceRanges", strings(spec, "loadBalancerSourceRanges")
    causes: list[Cause] = []
    if ranges and kind != "LoadBalancer":
        causes.append(forbidden(at, "may only be used when `type` is 'LoadBalancer'"))
    for index, each in enumerate(ranges):
        if not _is_range(each.strip()):
            message = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            causes.append(invalid(f"{at}[{index}]", each, message))
    return causes


def _is_range(value: str) -> bool:
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        return False
    return "/" in value


def _check_balanced(spec: JsonObject, kind: str) -> list[Cause]:
    """The fields that only a LoadBalancer has."""
    causes: list[Cause] = []
    if kind != "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not None:
        message = "may only be used when `type` is 'LoadBalancer'"
        causes.append(forbidden("spec.allocateLoadBalancerNodePorts", message))
    causes += _check_ranges(spec, kind)
    if (name := spec.get("loadBalancerClass")) is not None and kind != "LoadBalancer":
        message = "may only be used when `type` is 'LoadBalancer'"
        causes.append(forbidden("spec.loadBalancerClass", message))
    elif isinstance(name, str):
        causes += check_text(name, "spec.loadBalancerClass", qualified_name)
    is_checked = kind == "LoadBalancer" and text(spec, "externalTrafficPolicy") == "Local"
    if (port := integer(spec, "healthCheckNodePort")) and not is_checked:
        message = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        causes.append(invalid("spec.healthCheckNodePort", port, message))
    return causes


def _check_balancer(status: JsonObject, kind: str) -> list[Cause]:
    at = "status.loadBalancer.ingress"
    if items(status, "ingress") and kind != "LoadBalancer":
        return [forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'")]
    causes: list[Cause] = []
    for place, each in numbered(status, "ingress", "status.loadBalancer"):
        if address := text(each, "ip"):
            causes += check_address(address, f"{place}.ip")
        if host := text(each, "hostname"):
            causes += check_text(host, f"{place}.hostname", dns1123_subdomain)
            if _is_address(host):
                causes.append(invalid(f"{place}.hostname", host, "must be a DNS name, not an IP address"))
    return causes


def _is_address(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def _check_type(spec: JsonObject, kind: str, address: str) -> list[Cause]:
    causes: list[Cause] = []
    if kind == "ExternalName":
        if address and not items(spec, "clusterIPs"):
            causes.append(forbidden("spec.clusterIPs", "may not be set for ExternalName services"))
        if name := text(spec, "externalName").removesuffix("."):
            causes += check_text(name, "spec.externalName", dns1123_subdomain)
        else:
            causes.append(required("spec.externalName"))
    elif kind in ("LoadBalancer", "NodePort") and address == "None":
        causes.append(invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services"))
    elif address not in ("", "None"):
        causes += check_address(address, "spec.clusterIPs[0]")
    return causes


def _check_ports(spec: JsonObject, kind: str) -> list[Cause]:
    causes: list[Cause] = []
    names: set[str] = set()
    numbers: set[tuple[str, int]] = set()
    node_ports: set[tuple[str, int]] = set()
    needs_name = len(items(spec, "ports")) > 1
    for at, port in numbered(spec, "ports", "spec"):
        causes += _check_port_name(port, at, names, needs_name=needs_name)
        causes += check_port(integer(port, "port"), f"{at}.port")
        causes += check_protocol(port, at)
        causes += check_port_or_name(port.get("targetPort", 0), f"{at}.targetPort")
        causes += _check_app_protocol(port, at)
        if kind == "ClusterIP" and integer(port, "nodePort"):
            causes.append(forbidden(f"{at}.nodePort", "may not be used when `type` is 'ClusterIP'"))
        number = (text(port, "protocol"), integer(port, "port"))
        if number in numbers:
            causes.append(duplicate(at, {"port": number[1], "protocol": number[0]}))
        numbers.add(number)
        taken = (text(port, "protocol"), integer(port, "nodePort"))
        if taken[1] and taken in node_ports:
            causes.append(duplicate(f"{at}.nodePort", taken[1]))
        node_ports.add(taken)
    return causes


def _check_port_name(port: JsonObject, path: str, names: set[str], *, needs_name: bool) -> list[Cause]:
    name = text(port, "name")
    if not name:
        return [required(f"{path}.name")] if needs_name else []
    causes = check_text(name, f"{path}.name", dns1123_label)
    if name in names:
        causes.append(duplicate(f"{path}.name", name))
    names.add(name)
    return causes


def _check_affinity(spec: JsonObject) -> list[Cause]:
    if text(spec, "sessionAffinity") != "ClientIP":
        return []
    seconds = integer(struct(spec, "sessionAffinityConfig", "clientIP"), "timeoutSeconds", 1)
    if 0 < seconds <= _MAX_AFFINITY_SECONDS:
        return []
    message = f"must be greater than 0 and less than {_MAX_AFFINITY_SECONDS}"
    return [invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, message)]


def _check_endpoints(obj: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    for at, subset in numbered(obj, "subsets", ""):
        if not items(subset, "addresses") and not items(subset, "notReadyAddresses"):
            causes.append(required(at, "must specify `addresses` or `notReadyAddresses`"))
        for name in ("addresses", "notReadyAddresses"):
            for each, address in numbered(subset, name, at):
                causes += check_address(text(address, "ip"), f"{each}.ip")
                causes += _check_host(address, each)
        for each, port in numbered(subset, "ports", at):
            causes += _check_port_name(port, each, set(), needs_name=len(items(subset, "ports")) > 1)
            causes += check_port(integer(port, "port"), f"{each}.port")
            causes += check_protocol(port, each) + _check_app_protocol(port, each)
    return causes


def _check_family(address: str, kind: str, path: str) -> list[Cause]:
    """Kubernetes leaves out the index."""
    is_v6 = ":" in address
    if kind not in ("IPv4", "IPv6") or not _is_address(address) or is_v6 == (kind == "IPv6"):
        return []
    return [invalid(path, address, f"must be an {kind} address")]


def _check_host(endpoint: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    for name, rule in (("hostname", dns1123_label), ("nodeName", dns1123_subdomain)):
        # Of a hostname in Endpoints nobody can tell whether it is empty or absent: it is dropped before.
        if isinstance(value := endpoint.get(name), str):
            causes += check_text(value, f"{path}.{name}", rule)
    return causes


def _check_hints(hints: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    for member, rule in (("forZones", label_value), ("forNodes", dns1123_subdomain)):
        names: set[str] = set()
        for at, each in numbered(hints, member, path):
            name = text(each, "name")
            causes += check_text(name, f"{at}.name", rule)
            if name in names:
                causes.append(duplicate(f"{at}.name", name))
            names.add(name)
    return causes


def _check_app_protocol(port: JsonObject, path: str) -> list[Cause]:
    name = port.get("appProtocol")
    return check_text(name, f"{path}.appProtocol", qualified_name) if isinstance(name, str) else []


def _check_endpoint_slice(obj: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    kind = text(obj, "addressType")
    if not kind:
        causes.append(required("addressType"))
    elif kind not in _ADDRESS_TYPES:
        causes.append(unsupported("addressType", kind, _ADDRESS_TYPES))
    if (total := len(items(obj, "endpoints"))) > _MAX_ENDPOINTS:
        message = f"Too many: {total}: must have at most {_MAX_ENDPOINTS} items"
        causes.append(Cause("FieldValueTooMany", message, "endpoints"))
    for at, endpoint in numbered(obj, "endpoints", ""):
        addresses = strings(endpoint, "addresses")
        if not addresses:
            causes.append(required(f"{at}.addresses", "must contain at least 1 address"))
        elif len(addresses) > _MAX_ADDRESSES:
            message = f"Too many: {len(addresses)}: must have at most {_MAX_ADDRESSES} items"
            causes.append(Cause("FieldValueTooMany", message, f"{at}.addresses"))
        for index, address in enumerate(addresses):
            path = f"{at}.addresses[{index}]"
            if kind == "FQDN":
                causes += check_text(address, path, dns1123_subdomain) or _check_segments(address, path)
            else:
                causes += check_address(address, path) + _check_family(address, kind, f"{at}.addresses")
        causes += _check_host(endpoint, at) + _check_hints(struct(endpoint, "hints"), f"{at}.hints")
    return causes + _check_slice_ports(obj)


def _check_segments(name: str, path: str) -> list[Cause]:
    if "." in name:
        return []
    return [invalid(path, name, "should be a domain with at least two segments separated by dots")]


def _check_slice_ports(obj: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    names: set[str] = set()
    for at, port in numbered(obj, "ports", ""):
        name = text(port, "name")
        if name:
            causes += check_text(name, f"{at}.name", dns1123_label)
        if name in names:
            causes.append(duplicate(f"{at}.name", name))
        names.add(name)
        causes += check_protocol(port, at) + _check_app_protocol(port, at)
    return causes


def _check_ip_address(obj: JsonObject) -> list[Cause]:
    parent, at = struct(obj, "spec").get("parentRef"), "spec.parentRef"
    if not isinstance(parent, dict):
        return [required(at)]
    causes: list[Cause] = []
    if group := text(parent, "group"):
        causes += check_text(group, f"{at}.group", dns1123_subdomain)
    for name in ("resource", "name"):
        causes += check_required(parent, name, at, path_segment)
    if namespace := text(parent, "namespace"):
        causes += check_text(namespace, f"{at}.namespace", path_segment)
    return causes


def _check_service_cidr(obj: JsonObject) -> list[Cause]:
    spec, at = struct(obj, "spec"), "spec.cidrs"
    ranges = strings(spec, "cidrs")
    if not ranges:
        return [required(at, "at least one CIDR required")]
    if len(ranges) > _MAX_RANGES:
        return [invalid(at, spec, "may only hold up to 2 values")]
    causes: list[Cause] = []
    families: list[int] = []
    for index, each in enumerate(ranges):
        try:
            families.append(ipaddress.ip_network(each, strict=False).version if "/" in each else 0)
        except ValueError:
            families.append(0)
        if not families[-1]:
            message = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            causes.append(invalid(f"{at}[{index}]", each, message))
    if not causes and len(set(families)) < len(families):
        message = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        causes.append(invalid(at, ranges, message))
    return causes


CHECKS = {
    ("", "Service"): _check_service,
    ("", "Endpoints"): _check_endpoints,
    ("discovery.k8s.io", "EndpointSlice"): _check_endpoint_slice,
    ("networking.k8s.io", "IPAddress"): _check_ip_address,
    ("networking.k8s.io", "ServiceCIDR"): _check_service_cidr,
}
