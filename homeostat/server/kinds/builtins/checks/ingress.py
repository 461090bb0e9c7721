"""What Ingresses, IngressClasses and NetworkPolicies may look like."""

from __future__ import annotations

import ipaddress

from homeostat.objects.errors import Cause, forbidden, invalid, required, unsupported
from homeostat.objects.identifiers import (
    dns1035_label,
    dns1123_label,
    dns1123_subdomain,
    path_segment,
    wildcard_subdomain,
)
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.label_selector import check_selector
from homeostat.server.kinds.builtins.members import integer, items, numbered, strings, struct, text
from homeostat.server.kinds.builtins.value import (
    check_domain_path,
    check_port,
    check_port_or_name,
    check_protocol,
    check_required,
    check_text,
    is_integer,
)

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_SEQUENCES = ("//", "/./", "/../", "%2f", "%2F")
_BAD_SUFFIXES = ("/..", "/.")


def _check_ingress(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes: list[Cause] = []
    backend = spec.get("defaultBackend")
    if not items(spec, "rules") and backend is None:
        message = "either `defaultBackend` or `rules` must be specified"
        causes.append(invalid("spec", items(spec, "rules"), message))
    if isinstance(backend, dict):
        causes += _check_backend(backend, "spec.defaultBackend")
    for at, rule in numbered(spec, "rules", "spec"):
        if host := text(rule, "host"):
            causes += _check_host(host, f"{at}.host")
        if isinstance(http := rule.get("http"), dict):
            causes += _check_paths(http, f"{at}.http")
    for at, tls in numbered(spec, "tls", "spec"):
        for index, host in enumerate(strings(tls, "hosts")):
            causes += _check_name(host, f"{at}.hosts[{index}]")
        if name := text(tls, "secretName"):
            causes += check_text(name, f"{at}.secretName", dns1123_subdomain)
    if isinstance(wanted := spec.get("ingressClassName"), str):
        causes += check_text(wanted, "spec.ingressClassName", dns1123_subdomain)
    return causes


def _check_name(host: str, path: str) -> list[Cause]:
    return check_text(host, path, wildcard_subdomain if "*" in host else dns1123_subdomain)


def _check_host(host: str, path: str) -> list[Cause]:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return _check_name(host, path)
    return [invalid(path, host, "must be a DNS name, not an IP address")]


def _check_paths(http: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    if not items(http, "paths"):
        causes.append(required(f"{path}.paths"))
    for at, entry in numbered(http, "paths", path):
        kind, route = text(entry, "pathType"), text(entry, "path")
        if not isinstance(entry.get("pathType"), str):
            causes.append(required(f"{at}.pathType", "pathType must be specified"))
            continue  # as Kubernetes does
        if kind not in _PATH_TYPES:
            causes.append(unsupported(f"{at}.pathType", kind, _PATH_TYPES))
        elif kind != "ImplementationSpecific" or route:
            causes += _check_route(route, f"{at}.path", strict=kind != "ImplementationSpecific")
        causes += _check_backend(struct(entry, "backend"), f"{at}.backend")
    return causes


def _check_route(route: str, path: str, *, strict: bool) -> list[Cause]:
    if not route.startswith("/"):
        return [invalid(path, route, "must be an absolute path")]
    if not strict:
        return []
    causes = [invalid(path, route, f"must not contain '{each}'") for each in _BAD_SEQUENCES if each in route]
    causes += [invalid(path, route, f"cannot end with '{each}'") for each in _BAD_SUFFIXES if route.endswith(each)]
    return causes


def _check_backend(backend: JsonObject, path: str) -> list[Cause]:
    service, resource = backend.get("service"), backend.get("resource")
    if isinstance(resource, dict) and isinstance(service, dict):
        return [invalid(path, "", "cannot set both resource and service backends")]
    if isinstance(resource, dict):
        at = f"{path}.resource"
        return _check_reference(resource, at)
    if not isinstance(service, dict):
        return [invalid(path, "", "resource or service backend is required")]
    causes = check_required(service, "name", f"{path}.service", dns1035_label)
    port = struct(service, "port")
    name, number = text(port, "name"), integer(port, "number")
    if name and number:
        causes.append(invalid(path, "", "cannot set both port name & port number"))
    elif name:
        causes += check_port_or_name(name, f"{path}.service.port.name")
    elif number:
        causes += check_port(number, f"{path}.service.port.number")
    else:
        causes.append(required(path, "port name or number is required"))
    return causes


def _check_reference(reference: JsonObject, path: str) -> list[Cause]:
    """An object of another kind."""
    causes: list[Cause] = []
    if isinstance(group := reference.get("apiGroup"), str):
        causes += check_text(group, f"{path}.apiGroup", dns1123_subdomain)
    for name in ("kind", "name"):
        causes += check_required(reference, name, path, path_segment)
    return causes


def _check_ingress_class(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    controller = text(spec, "controller")
    causes: list[Cause] = []
    if not controller:
        causes.append(required("spec.controller"))
    elif len(controller) > 250:
        causes.append(Cause("FieldValueTooLong", "Too long: may not be more than 250 bytes", "spec.controller"))
    if controller:
        causes += check_domain_path(controller, "spec.controller")
    if isinstance(parameters := spec.get("parameters"), dict):
        causes += _check_reference(parameters, "spec.parameters")
        scope, namespace = text(parameters, "scope"), text(parameters, "namespace")
        at = "spec.parameters.namespace"
        if scope == "Namespace" and parameters.get("namespace") is None:
            causes.append(required(at, "`parameters.scope` is set to 'Namespace'"))
        elif scope == "Namespace":
            causes += check_text(namespace, at, dns1123_label)
        elif scope == "Cluster" and namespace:
            causes.append(forbidden(at, "`parameters.scope` is set to 'Cluster'"))
        elif scope != "Cluster":
            causes.append(unsupported("spec.parameters.scope", scope, ("Cluster", "Namespace")))
    return causes


def _check_network_policy(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes = check_selector(spec.get("podSelector"), "spec.podSelector")
    for rules, peers in (("ingress", "from"), ("egress", "to")):
        for at, rule in numbered(spec, rules, "spec"):
            for each, port in numbered(rule, "ports", at):
                causes += _check_policy_port(port, each)
            for each, peer in numbered(rule, peers, at):
                causes += _check_peer(peer, each)
    kinds = strings(spec, "policyTypes")
    if len(kinds) > 2:
        return [*causes, invalid("spec.policyTypes", kinds, "may not specify more than two policyTypes")]
    for index, kind in enumerate(kinds):
        if kind not in ("Ingress", "Egress"):
            causes.append(unsupported(f"spec.policyTypes[{index}]", kind, ("Egress", "Ingress")))
    return causes


def _check_policy_port(port: JsonObject, path: str) -> list[Cause]:
    causes = check_protocol(port, path)
    number, end = port.get("port"), port.get("endPort")
    if number is not None:
        causes += check_port_or_name(number, f"{path}.port")
    if not is_integer(end):
        return causes
    at = f"{path}.endPort"
    if number is None:
        causes.append(invalid(at, end, "may not be specified when `port` is not specified"))
    elif not is_integer(number):
        causes.append(invalid(at, end, "may not be specified when `port` is non-numeric"))
    else:
        if port["endPort"] < port["port"]:
            causes.append(invalid(at, end, "must be greater than or equal to `port`"))
        causes += check_port(end, at)
    return causes


def _check_peer(peer: JsonObject, path: str) -> list[Cause]:
    given = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if isinstance(peer.get(name), dict)]
    if not given:
        return [required(path, "must specify a peer")]
    causes: list[Cause] = []
    for name in given:
        if name == "ipBlock":
            causes += _check_block(peer[name], f"{path}.{name}")
        else:
            causes += check_selector(peer[name], f"{path}.{name}")
    if "ipBlock" in given and len(given) > 1:
        causes.append(forbidden(path, "may not specify both ipBlock and another peer"))
    return causes


def _check_block(block: JsonObject, path: str) -> list[Cause]:
    cidr = text(block, "cidr")
    if not cidr:
        return [required(f"{path}.cidr")]
    network = _network(cidr)
    if network is None:
        return [invalid(f"{path}.cidr", cidr, _NOT_CIDR)]
    causes: list[Cause] = []
    for index, each in enumerate(strings(block, "except")):
        at, inner = f"{path}.except[{index}]", _network(each)
        if inner is None:
            causes.append(invalid(at, each, _NOT_CIDR))
        elif not _holds(network, inner):
            causes.append(invalid(at, each, "must be a strict subset of `cidr`"))
    return causes


_NOT_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _network(cidr: str) -> _Network | None:
    try:
        return ipaddress.ip_network(cidr, strict=False) if "/" in cidr else None
    except ValueError:
        return None


def _holds(outer: _Network, inner: _Network) -> bool:
    return outer.version == inner.version and outer.prefixlen < inner.prefixlen and inner.network_address in outer


_GROUP = "networking.k8s.io"
CHECKS = {
    (_GROUP, "Ingress"): _check_ingress,
    (_GROUP, "IngressClass"): _check_ingress_class,
    (_GROUP, "NetworkPolicy"): _check_network_policy,
}
