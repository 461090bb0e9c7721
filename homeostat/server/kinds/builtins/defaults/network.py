"""Defaults of Services, Endpoints, EndpointSlices and NetworkPolicies.

The addresses, families and node ports of Services are not among them: see `server/services`.
"""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import ensure_struct, set_default, struct, structs, text

_AFFINITY_SECONDS = 10800
_EXTERNAL_TYPES = ("NodePort", "LoadBalancer")


def _default_service(obj: JsonObject) -> None:
    if (spec := ensure_struct(obj, "spec")) is None:
        return
    set_default(spec, "type", "ClusterIP")
    _default_affinity(spec)
    for port in structs(spec, "ports"):
        set_default(port, "protocol", "TCP")
        if port.get("targetPort") in (None, "", 0) and "port" in port:
            port["targetPort"] = port["port"]
    kind = spec["type"]
    if kind in _EXTERNAL_TYPES or (kind == "ClusterIP" and spec.get("externalIPs")):
        set_default(spec, "externalTrafficPolicy", "Cluster")
    if kind != "ExternalName" and spec.get("internalTrafficPolicy") is None:
        spec["internalTrafficPolicy"] = "Cluster"
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is None:
        spec["allocateLoadBalancerNodePorts"] = True
    if kind == "LoadBalancer":
        for point in structs(struct(obj, "status", "loadBalancer"), "ingress"):
            if point.get("ip"):
                set_default(point, "ipMode", "VIP")


def _default_affinity(spec: JsonObject) -> None:
    set_default(spec, "sessionAffinity", "None")
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        client = struct(spec, "sessionAffinityConfig", "clientIP")
        if client.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


def complete_service(obj: JsonObject, old: JsonObject) -> None:
    _drop_of_former_type(obj, old)
    default_balancer_status(obj)


def _drop_of_former_type(obj: JsonObject, old: JsonObject) -> None:
    """Drop the fields that only a Service's former type has, unless the write changes them."""
    spec, former = struct(obj, "spec"), struct(old, "spec")
    kind, before = text(spec, "type"), text(former, "type")
    if _is_checked_on_nodes(former) and not _is_checked_on_nodes(spec):
        _drop(spec, former, "healthCheckNodePort")
    if kind == before:
        return
    # A patch may have left parts in common with the old object, which admission sees as it was.
    spec = obj["spec"] = spec.copy()
    if isinstance(ports := spec.get("ports"), list):
        spec["ports"] = [port.copy() if isinstance(port, dict) else port for port in ports]
    if kind == "ExternalName":
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
            _drop(spec, former, name)
    if kind not in _EXTERNAL_TYPES:
        for port, known in zip(structs(spec, "ports"), structs(former, "ports"), strict=False):
            _drop(port, known, "nodePort")
        _drop(spec, former, "externalTrafficPolicy")
    if kind != "LoadBalancer":
        for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            _drop(spec, former, name)
        if isinstance(balancer := struct(obj, "status").get("loadBalancer"), dict):
            obj["status"] = {**obj["status"], "loadBalancer": {k: v for k, v in balancer.items() if k != "ingress"}}


def _is_checked_on_nodes(spec: JsonObject) -> bool:
    return text(spec, "type") == "LoadBalancer" and text(spec, "externalTrafficPolicy") == "Local"


def _drop(target: JsonObject, former: JsonObject, name: str) -> None:
    if name in target and target[name] == former.get(name):
        del target[name]


def default_balancer_status(obj: JsonObject) -> None:
    if (status := ensure_struct(obj, "status")) is not None:
        ensure_struct(status, "loadBalancer")


def _default_endpoints(obj: JsonObject) -> None:
    for subset in structs(obj, "subsets"):
        for port in structs(subset, "ports"):
            set_default(port, "protocol", "TCP")


def _default_endpoint_slice(obj: JsonObject) -> None:
    for endpoint in structs(obj, "endpoints"):
        ensure_struct(endpoint, "conditions")
    for port in structs(obj, "ports"):
        if port.get("name") is None:
            port["name"] = ""
        if port.get("protocol") is None:
            port["protocol"] = "TCP"


def _default_network_policy(obj: JsonObject) -> None:
    if (spec := ensure_struct(obj, "spec")) is None:
        return
    if spec.get("podSelector") is None:
        spec["podSelector"] = {}
    for rules in ("ingress", "egress"):
        for rule in structs(spec, rules):
            for port in structs(rule, "ports"):
                if port.get("protocol") is None:
                    port["protocol"] = "TCP"
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _default_ingress_class(obj: JsonObject) -> None:
    parameters = struct(obj, "spec").get("parameters")
    if isinstance(parameters, dict):
        set_default(parameters, "scope", "Cluster")


_NETWORKING = "networking.k8s.io"

DEFAULTS = {
    ("", "Service"): _default_service,
    ("", "Endpoints"): _default_endpoints,
    ("discovery.k8s.io", "EndpointSlice"): _default_endpoint_slice,
    (_NETWORKING, "NetworkPolicy"): _default_network_policy,
    (_NETWORKING, "IngressClass"): _default_ingress_class,
}
