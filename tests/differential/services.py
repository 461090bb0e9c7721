"""Services of every type: what the server allocates, keeps, releases and refuses.

Given addresses and node ports are of the lower part of their range, from which no server takes any by itself.
"""

from __future__ import annotations

from typing import Any

from tests.differential.step import APPLY, JSON, MERGE, NS, STRATEGIC, Step, api

_AT = f"{NS}/services"


def _service(name: str, *ports: dict[str, Any], **spec: Any) -> dict[str, Any]:
    spec = {"selector": {"app": "a"}, "ports": list(ports or [{"port": 80}]), **spec}
    return api("Service", "v1", name, spec={field: value for field, value in spec.items() if value is not None})


def _created(text: str, name: str, *ports: dict[str, Any], **spec: Any) -> Step:
    return Step(f"service {text}", "POST", _AT, _service(name, *ports, **spec))


def _tried(text: str, name: str, *ports: dict[str, Any], **spec: Any) -> Step:
    return Step(f"service {text}", "POST", f"{_AT}?dryRun=All", _service(name, *ports, **spec))


def _put(text: str, name: str, *ports: dict[str, Any], **spec: Any) -> Step:
    return Step(f"service {text}", "PUT", f"{_AT}/{name}", _service(name, *ports, **spec))


def _patched(text: str, name: str, patch: Any, kind: str = MERGE) -> Step:
    return Step(f"service {text}", "PATCH", f"{_AT}/{name}", patch, kind)


def _read(text: str, name: str) -> Step:
    return Step(f"service {text}", "GET", f"{_AT}/{name}")


def _deleted(text: str, name: str) -> Step:
    return Step(f"service {text}", "DELETE", f"{_AT}/{name}")


def _named(number: int, **more: Any) -> dict[str, Any]:
    return {"name": f"p{number}", "port": number, **more}


_BALANCER = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}

_ADDRESSES = [
    _created("gets an address", "auto"),
    _read("has it when read", "auto"),
    _put("keeps its address", "auto", {"port": 81}),
    _put("may not change its address", "auto", clusterIP="10.0.0.9"),
    _put("may not become headless", "auto", clusterIP="None"),
    _patched("may not lose its addresses", "auto", {"spec": {"clusterIPs": ["10.0.0.8"]}}),
    _patched("patched without its address", "auto", {"spec": {"clusterIP": None, "clusterIPs": None}}),
    _patched("patched without one of two", "auto", {"spec": {"clusterIP": None}}),
    _patched("patched with no address", "auto", {"spec": {"clusterIP": ""}}),
    _patched("loses its families", "auto", {"spec": {"ipFamilies": None, "ipFamilyPolicy": None}}),
    _patched("changes its family", "auto", {"spec": {"ipFamilies": ["IPv6"]}}),
    _patched("wants both families later", "auto", {"spec": {"ipFamilyPolicy": "RequireDualStack"}}),
    _patched("would like both families later", "auto", {"spec": {"ipFamilyPolicy": "PreferDualStack"}}),
    _patched("wants one family again", "auto", {"spec": {"ipFamilyPolicy": "SingleStack"}}),
    _created("given an address", "given", clusterIP="10.0.0.7"),
    _created("given a taken address", "taken", clusterIP="10.0.0.7"),
    _tried("tries a taken address", "taken", clusterIP="10.0.0.7"),
    _tried("tries a free address", "tried", clusterIP="10.0.0.6"),
    _created("given the tried address", "tried", clusterIP="10.0.0.6"),
    _tried("shows an address in a dry run", "shown"),
    _created("given the server's address", "taken", clusterIP="10.0.0.1"),
    _created("given an address out of range", "far", clusterIP="10.1.0.1"),
    _created("given the network address", "far", clusterIP="10.0.0.0"),
    _created("given the broadcast address", "far", clusterIP="10.0.0.255"),
    _created("given no address at all", "far", clusterIP="x"),
    _created("given an address of another family", "far", clusterIP="fd00::1"),
    _created("given two addresses", "far", clusterIP="10.0.0.5", clusterIPs=["10.0.0.5", "10.0.0.4"]),
    _created("given addresses that differ", "far", clusterIP="10.0.0.5", clusterIPs=["10.0.0.4"]),
    _created("given the second field alone", "far", clusterIPs=["10.0.0.5"]),
    _created("of another family", "far", ipFamilies=["IPv6"]),
    _created("of no family", "far", ipFamilies=["IPv5"]),
    _created("of two families", "far", ipFamilies=["IPv4", "IPv6"]),
    _created("that requires both families", "far", ipFamilyPolicy="RequireDualStack"),
    _created("that prefers both families", "both", ipFamilyPolicy="PreferDualStack"),
    _created("without head", "headless", clusterIP="None"),
    _created("without head and selector", "headless-2", clusterIP="None", selector=None),
    _created("without head, of both families", "far", clusterIP="None", ipFamilyPolicy="RequireDualStack"),
    _put("gets a head", "headless", clusterIP="10.0.0.3"),
    _put("stays without head", "headless", {"port": 81}),
    _deleted("ends with its address", "given"),
    _created("given a released address", "again", clusterIP="10.0.0.7"),
    Step(
        "service applied",
        "PATCH",
        f"{_AT}/applied?fieldManager=me",
        _service("applied", {"port": 80, "protocol": "TCP"}),
        APPLY,
    ),
    Step(
        "service applied again",
        "PATCH",
        f"{_AT}/applied?fieldManager=me",
        _service("applied", {"port": 81, "protocol": "TCP"}),
        APPLY,
    ),
]

_TYPES = [
    _created("elsewhere", "name", {"port": 80}, type="ExternalName", externalName="a.example.com"),
    _created("elsewhere with an address", "far", type="ExternalName", externalName="a.b", clusterIP="10.0.0.3"),
    _put("comes home", "name"),
    _patched("goes elsewhere", "again", {"spec": {"type": "ExternalName", "externalName": "a.example.com"}}),
    _created("takes what it left", "heir", clusterIP="10.0.0.7"),
    _patched("comes back to a taken address", "again", {"spec": {"type": "ClusterIP", "clusterIP": "10.0.0.7"}}),
    _patched("comes back as a NodePort", "again", {"spec": {"type": "NodePort"}}),
    _patched("becomes a ClusterIP", "again", {"spec": {"type": "ClusterIP"}}),
    _patched("becomes a LoadBalancer", "again", {"spec": {"type": "LoadBalancer"}}, STRATEGIC),
    _patched("goes elsewhere with ports", "again", {"spec": {"type": "ExternalName", "externalName": "a.b"}}),
    _patched("without head becomes a NodePort", "headless", {"spec": {"type": "NodePort"}}),
    _patched("without head goes elsewhere", "headless", {"spec": {"type": "ExternalName", "externalName": "a.b"}}),
]

_PORTS = [
    _created("on nodes", "ports", _named(80), _named(81), type="NodePort"),
    _put("keeps its node ports", "ports", _named(81), _named(80), _named(82), type="NodePort"),
    _created("given a node port", "port", {"port": 80, "nodePort": 30080}, type="NodePort"),
    _created("given a taken node port", "far", {"port": 80, "nodePort": 30080}, type="NodePort"),
    _created("given a low node port", "far", {"port": 80, "nodePort": 80}, type="NodePort"),
    _created("given an impossible node port", "far", {"port": 80, "nodePort": 70000}, type="NodePort"),
    _created("given a node port inside", "far", {"port": 80, "nodePort": 30081}),
    _created(
        "of two protocols",
        "dns",
        _named(53, nodePort=30053),
        {**_named(53, protocol="UDP"), "name": "u"},
        type="NodePort",
    ),
    _created("of a port twice", "far", _named(1, nodePort=30001), _named(2, nodePort=30001), type="NodePort"),
    _put("changes its node port", "port", {"port": 80, "nodePort": 30070}, type="NodePort"),
    _created("takes the former node port", "port-2", {"port": 80, "nodePort": 30080}, type="NodePort"),
    _put("changes to a taken node port", "port", {"port": 80, "nodePort": 30080}, type="NodePort"),
    _put("changes to a high node port", "port", {"port": 80, "nodePort": 40000}, type="NodePort"),
    _patched(
        "changes a node port by patch",
        "port",
        [{"op": "replace", "path": "/spec/ports/0/nodePort", "value": 30071}],
        JSON,
    ),
    _tried("tries a taken node port", "far", {"port": 80, "nodePort": 30071}, type="NodePort"),
    _put("drops its node port", "port"),
    _created("takes the dropped node port", "port-3", {"port": 80, "nodePort": 30071}, type="NodePort"),
    _deleted("ends with its node port", "port-3"),
    _created("takes the released node port", "port-4", {"port": 80, "nodePort": 30071}, type="NodePort"),
    _created("balanced", "lb", type="LoadBalancer"),
    _created("balanced without node ports", "lb-2", type="LoadBalancer", allocateLoadBalancerNodePorts=False),
    _patched("balanced with node ports later", "lb-2", {"spec": {"allocateLoadBalancerNodePorts": True}}),
    _patched("balanced without them again", "lb-2", {"spec": {"allocateLoadBalancerNodePorts": False}}),
    _created("without node ports inside", "far", allocateLoadBalancerNodePorts=False),
    _created("balanced locally", "lb-3", **_BALANCER),
    _put("keeps its health port", "lb-3", **_BALANCER),
    _put("changes its health port", "lb-3", **_BALANCER, healthCheckNodePort=30055),
    _put("balanced anywhere", "lb-3", type="LoadBalancer"),
    _put("balanced locally again", "lb-3", **_BALANCER, healthCheckNodePort=30056),
    _created("given a taken health port", "far", **_BALANCER, healthCheckNodePort=30056),
    _created("given a health port in vain", "far", type="LoadBalancer", healthCheckNodePort=30057),
    _put("of the inside at last", "lb-3"),
    _created("takes the health port", "port-5", {"port": 80, "nodePort": 30056}, type="NodePort"),
]

SERVICE_STEPS = [*_ADDRESSES, *_TYPES, *_PORTS]
