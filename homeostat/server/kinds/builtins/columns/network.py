"""The columns of Services, their endpoints and addresses, Ingresses, IngressClasses and NetworkPolicies."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.columns.column import (
    AGE,
    NAME,
    NONE,
    SELECTOR,
    UNSET,
    Cell,
    Printer,
    age_of,
    more,
    name_of,
    shown,
)
from homeostat.server.kinds.builtins.label_selector import print_labels, print_selector
from homeostat.server.kinds.builtins.members import integer, items, strings, struct, structs, text

_SHOWN = 3


def _service(obj: JsonObject) -> list[Cell]:
    spec = struct(obj, "spec")
    addresses = strings(spec, "clusterIPs")
    return [
        name_of(obj),
        text(spec, "type"),
        addresses[0] if addresses else NONE,
        _external_address(spec, struct(obj, "status")),
        ",".join(_port(each) for each in structs(spec, "ports")) or NONE,
        age_of(obj),
        print_labels(spec.get("selector")),
    ]


def _external_address(spec: JsonObject, status: JsonObject) -> str:
    external = strings(spec, "externalIPs")
    match text(spec, "type"):
        case "ClusterIP" | "NodePort":
            return ",".join(external) or NONE
        case "LoadBalancer":
            balanced = _load_balancer(status)
            return ",".join([balanced, *external] if balanced else external) or "<pending>"
        case "ExternalName":
            return text(spec, "externalName")
    return "<unknown>"


def _load_balancer(status: JsonObject) -> str:
    points = structs(struct(status, "loadBalancer"), "ingress")
    return ",".join(sorted({text(each, "ip") or text(each, "hostname") for each in points} - {""}))


def _port(port: JsonObject) -> str:
    node_port = integer(port, "nodePort")
    number = f"{integer(port, 'port')}:{node_port}" if node_port > 0 else f"{integer(port, 'port')}"
    return f"{number}/{text(port, 'protocol')}"


def _endpoints(obj: JsonObject) -> list[Cell]:
    found = []
    for subset in structs(obj, "subsets"):
        addresses = [text(each, "ip") for each in structs(subset, "addresses")]
        ports = structs(subset, "ports")
        if not ports:
            found += addresses
        for port in ports:
            found += [_joined(address, integer(port, "port")) for address in addresses]
    return [name_of(obj), more(found[:_SHOWN], len(found)) if items(obj, "subsets") else NONE, age_of(obj)]


def _joined(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _endpoint_slice(obj: JsonObject) -> list[Cell]:
    ports = [_slice_port(each) for each in structs(obj, "ports")]
    addresses = [address for each in structs(obj, "endpoints") for address in strings(each, "addresses")]
    return [
        name_of(obj),
        text(obj, "addressType"),
        more(ports[:_SHOWN], len(ports)) or UNSET,
        more(addresses[:_SHOWN], len(addresses)) or UNSET,
        age_of(obj),
    ]


def _slice_port(port: JsonObject) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    return "*" if port.get("name") is None else text(port, "name")


def _ingress(obj: JsonObject) -> list[Cell]:
    spec = struct(obj, "spec")
    class_name = spec.get("ingressClassName")
    return [
        name_of(obj),
        class_name if isinstance(class_name, str) else NONE,
        _hosts(structs(spec, "rules")),
        _load_balancer(struct(obj, "status")),
        "80, 443" if items(spec, "tls") else "80",
        age_of(obj),
    ]


def _hosts(rules: list[JsonObject]) -> str:
    hosts = [host for each in rules if (host := text(each, "host"))]
    if not hosts:
        return "*"
    return more(hosts[:_SHOWN], len(rules) if len(hosts) > _SHOWN else len(hosts))


def _ingress_class(obj: JsonObject) -> list[Cell]:
    spec = struct(obj, "spec")
    parameters = spec.get("parameters")
    printed = NONE
    if isinstance(parameters, dict):
        group = text(parameters, "apiGroup")
        printed = f"{text(parameters, 'kind')}{f'.{group}' if group else ''}/{text(parameters, 'name')}"
    return [name_of(obj), text(spec, "controller"), printed, age_of(obj)]


def _network_policy(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), print_selector(struct(obj, "spec").get("podSelector")), age_of(obj)]


def _ip_address(obj: JsonObject) -> list[Cell]:
    parent = struct(obj, "spec").get("parentRef")
    if not isinstance(parent, dict):
        return [name_of(obj), NONE]
    group, namespace = text(parent, "group"), text(parent, "namespace")
    resource = f"{text(parent, 'resource')}.{group}" if group else text(parent, "resource")
    return [name_of(obj), "/".join(each for each in (resource.lower(), namespace, text(parent, "name")) if each)]


def _service_cidr(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), ",".join(strings(struct(obj, "spec"), "cidrs")), age_of(obj)]


_NETWORKING = "networking.k8s.io"

PRINTERS = {
    ("", "Service"): Printer(
        (
            NAME,
            shown("Type", "How the service is reached."),
            shown("Cluster-IP"),
            shown("External-IP"),
            shown("Port(s)"),
            AGE,
            SELECTOR,
        ),
        _service,
    ),
    ("", "Endpoints"): Printer((NAME, shown("Endpoints", "Addresses and ports."), AGE), _endpoints),
    ("discovery.k8s.io", "EndpointSlice"): Printer(
        (NAME, shown("AddressType"), shown("Ports"), shown("Endpoints", "Addresses."), AGE), _endpoint_slice
    ),
    (_NETWORKING, "Ingress"): Printer(
        (
            NAME,
            shown("Class", "The IngressClass that serves it."),
            shown("Hosts", "Hosts that the ingress serves."),
            shown("Address", "Where the load balancer listens."),
            shown("Ports"),
            AGE,
        ),
        _ingress,
    ),
    (_NETWORKING, "IngressClass"): Printer(
        (NAME, shown("Controller", "Who serves the class."), shown("Parameters"), AGE), _ingress_class
    ),
    (_NETWORKING, "NetworkPolicy"): Printer(
        (NAME, shown("Pod-Selector", "Which pods the policy is for."), AGE), _network_policy
    ),
    (_NETWORKING, "IPAddress"): Printer((NAME, shown("ParentRef", "What has the address.")), _ip_address),
    (_NETWORKING, "ServiceCIDR"): Printer((NAME, shown("CIDRs", "Ranges of addresses."), AGE), _service_cidr),
}
