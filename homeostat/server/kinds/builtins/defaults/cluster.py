"""Defaults of APIServices, flow control and dynamic resource allocation."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import ensure_struct, set_default, struct, structs

_QUEUING = {"handSize": 8, "queues": 64, "queueLengthLimit": 50}
_SHARES = {"limited": 30, "exempt": 0}


def _default_flow_schema(obj: JsonObject) -> None:
    if (spec := ensure_struct(obj, "spec")) is not None and not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = 1000


def _default_priority_level(obj: JsonObject) -> None:
    for name, shares in _SHARES.items():
        level = struct(obj, "spec").get(name)
        if isinstance(level, dict):
            set_default(level, "nominalConcurrencyShares", shares)
            set_default(level, "lendablePercent", 0)
    queuing = struct(obj, "spec", "limited", "limitResponse").get("queuing")
    if isinstance(queuing, dict):
        for name, value in _QUEUING.items():
            if not queuing.get(name):
                queuing[name] = value


def _default_claim(obj: JsonObject) -> None:
    _default_requests(struct(obj, "spec"))


def _default_claim_template(obj: JsonObject) -> None:
    if (spec := ensure_struct(obj, "spec")) is not None:
        ensure_struct(spec, "metadata")
    _default_requests(struct(obj, "spec", "spec"))


def _default_requests(spec: JsonObject) -> None:
    for request in structs(struct(spec, "devices"), "requests"):
        exactly = request.get("exactly")
        for wanted in [exactly] if isinstance(exactly, dict) else structs(request, "firstAvailable"):
            set_default(wanted, "allocationMode", "ExactCount")
            for toleration in structs(wanted, "tolerations"):
                set_default(toleration, "operator", "Equal")
            if wanted["allocationMode"] == "ExactCount" and not wanted.get("count"):
                wanted["count"] = 1


def _default_api_service(obj: JsonObject) -> None:
    service = struct(obj, "spec").get("service")
    if isinstance(service, dict) and service.get("port") is None:
        service["port"] = 443


_FLOW, _DEVICES = "flowcontrol.apiserver.k8s.io", "resource.k8s.io"
DEFAULTS = {
    ("apiregistration.k8s.io", "APIService"): _default_api_service,
    (_FLOW, "FlowSchema"): _default_flow_schema,
    (_FLOW, "PriorityLevelConfiguration"): _default_priority_level,
    (_DEVICES, "ResourceClaim"): _default_claim,
    (_DEVICES, "ResourceClaimTemplate"): _default_claim_template,
}
