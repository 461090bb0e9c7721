"""What an object uses of a ResourceQuota, by the names that quotas limit. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta

from homeostat.objects.json import JsonObject
from homeostat.objects.quantity import Quantity
from homeostat.objects.time.timestamp import parse_time
from homeostat.server.admission.plugins.amounts import Amounts, amounts_of, pod_amounts
from homeostat.server.kinds.builtins.defaults.qos import qos_class
from homeostat.server.kinds.builtins.members import integer, strings, struct, structs, text

_ONE = Quantity(10**9)
_NAMED = frozenset(
    [
        "pods",
        "services",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
    ]
)
_PLAIN = ("cpu", "memory", "ephemeral-storage")
_ENDED = frozenset({"Succeeded", "Failed"})
_CLASS = "storageclass.storage.k8s.io"
_STORAGE = "requests.storage"
_DEVICE_CLAIMS = "resourceclaims.resource.k8s.io"
_DEVICES = ".deviceclass.resource.k8s.io/devices"
_MOST_DEVICES = 32
"""That a claim can be given: what a request for all devices counts as."""


def usage_of(resource: str, obj: JsonObject, now: datetime | None = None) -> Amounts:
    """By name: `pods`, `count/deployments.apps`, `requests.cpu`. With `now`, without Pods that are overdue then."""
    used = {f"count/{resource}": _ONE}
    if resource == "pods":
        return used | _pod_usage(obj, now)
    if resource in _NAMED:
        used[resource] = _ONE
    if resource == "services":
        used |= _service_usage(struct(obj, "spec"))
    elif resource == "persistentvolumeclaims":
        used |= _claim_usage(struct(obj, "spec"), struct(obj, "status"))
    elif resource == _DEVICE_CLAIMS:
        used |= _device_usage(struct(obj, "spec", "devices"))
    return used


def is_overdue(pod: JsonObject, now: datetime) -> bool:
    """Whether a deleted Pod should be gone: its Node is lost, so it no longer counts. The grace period counts twice, as
    in Kubernetes: the time of deletion already includes it.
    """
    metadata = struct(pod, "metadata")
    given, grace_s = text(metadata, "deletionTimestamp"), integer(metadata, "deletionGracePeriodSeconds", -1)
    if not given or grace_s < 0:
        return False
    return now > parse_time(given) + timedelta(seconds=grace_s)


def limited_names(resource: str, hard: Iterable[str]) -> set[str]:
    """Which of the names that a quota limits an object of the resource may use."""
    return {name for name in hard if name == f"count/{resource}" or _may_use(resource, name)}


def are_counts(resource: str, names: set[str]) -> bool:
    """Whether each object uses one of each name, whatever it contains."""
    return names <= {f"count/{resource}", resource} and "pods" not in names


def _may_use(resource: str, name: str) -> bool:
    match resource:
        case "pods":
            if name.startswith(("requests.", "limits.", "hugepages-")):
                return name != _STORAGE
            return name == "pods" or name in _PLAIN
        case "services":
            return name in ("services", "services.loadbalancers", "services.nodeports")
        case "persistentvolumeclaims":
            return name in ("persistentvolumeclaims", _STORAGE) or f".{_CLASS}/" in name
        case "resourceclaims.resource.k8s.io":
            return name.endswith(_DEVICES)
    return name == resource and resource in _NAMED


def is_scoped(spec: JsonObject) -> bool:
    return bool(strings(spec, "scopes") or structs(struct(spec, "scopeSelector"), "matchExpressions"))


def _pod_usage(pod: JsonObject, now: datetime | None) -> Amounts:
    if text(struct(pod, "status"), "phase") in _ENDED or (now is not None and is_overdue(pod, now)):
        return {}
    used: Amounts = {"pods": _ONE}
    for kind in ("requests", "limits"):
        for name, amount in pod_amounts(pod, kind).items():
            if kind == "requests" and (name in _PLAIN or name.startswith("hugepages-")):
                used[name] = amount
            if kind == "requests" or name in _PLAIN:
                used[f"{kind}.{name}"] = amount
    return used


def _service_usage(spec: JsonObject) -> Amounts:
    ports = len(structs(spec, "ports"))
    match text(spec, "type"):
        case "NodePort":
            return {"services.nodeports": Quantity(ports * 10**9)}
        case "LoadBalancer":
            opened = ports if spec.get("allocateLoadBalancerNodePorts") is not False else 0
            return {"services.loadbalancers": _ONE, "services.nodeports": Quantity(opened * 10**9)}
    return {}


def _claim_usage(spec: JsonObject, status: JsonObject) -> Amounts:
    storage = amounts_of(struct(spec, "resources", "requests")).get("storage")
    allocated = amounts_of(struct(status, "allocatedResources")).get("storage")
    if storage is not None and allocated is not None:
        storage = max(storage, allocated)
    name = text(spec, "storageClassName")
    used: Amounts = {f"{name}.{_CLASS}/persistentvolumeclaims": _ONE} if name else {}
    if storage is not None:
        used[_STORAGE] = storage
        if name:
            used[f"{name}.{_CLASS}/requests.storage"] = storage
    return used


def _device_usage(devices: JsonObject) -> Amounts:
    """By device class. Of alternatives each class counts with the most that one of them asks for."""
    used: Counter[str] = Counter()
    for request in structs(devices, "requests"):
        largest: Counter[str] = Counter()
        for each in structs(request, "firstAvailable") or [struct(request, "exactly")]:
            largest |= Counter({f"{text(each, 'deviceClassName')}{_DEVICES}": _device_count(each)})
        used += largest
    return {name: Quantity(count * 10**9) for name, count in used.items()}


def _device_count(request: JsonObject) -> int:
    match text(request, "allocationMode"):
        case "ExactCount":
            return integer(request, "count", 1)
        case "All":
            return _MOST_DEVICES
    return 0


def is_in_scope(spec: JsonObject, resource: str, obj: JsonObject) -> bool:
    """Whether a quota with these scopes counts the object; one with scopes counts Pods or claims alone."""
    scopes: list[tuple[str, str, list[str]]] = [(each, "Exists", []) for each in strings(spec, "scopes")]
    scopes += [
        (text(each, "scopeName"), text(each, "operator"), strings(each, "values"))
        for each in structs(struct(spec, "scopeSelector"), "matchExpressions")
    ]
    if not scopes:
        return True
    if resource == "persistentvolumeclaims":
        return all(_has_claim_scope(obj, *scope) for scope in scopes)
    return resource == "pods" and all(_has_scope(obj, *scope) for scope in scopes)


def _has_claim_scope(claim: JsonObject, name: str, operator: str, values: list[str]) -> bool:
    if name != "VolumeAttributesClass":
        return False
    status = struct(claim, "status")
    found = {
        text(struct(claim, "spec"), "volumeAttributesClassName"),
        text(status, "currentVolumeAttributesClassName"),
        text(struct(status, "modifyVolumeStatus"), "targetVolumeAttributesClassName"),
    } - {""}
    match operator:
        case "In":
            return any(each in values for each in found)
        case "NotIn":
            return not found or any(each not in values for each in found)
        case "DoesNotExist":
            return not found
    return bool(found)


def _has_scope(pod: JsonObject, name: str, operator: str, values: list[str]) -> bool:
    spec = struct(pod, "spec")
    if name == "PriorityClass":
        found = text(spec, "priorityClassName")
        match operator:
            case "In":
                return found in values
            case "NotIn":
                return found not in values
            case "DoesNotExist":
                return not found
        return bool(found)
    match name:
        case "Terminating":
            return integer(spec, "activeDeadlineSeconds", -1) >= 0
        case "NotTerminating":
            return integer(spec, "activeDeadlineSeconds", -1) < 0
        case "BestEffort":
            return qos_class(pod) == "BestEffort"
        case "NotBestEffort":
            return qos_class(pod) != "BestEffort"
        case "CrossNamespacePodAffinity":
            return _reaches_namespaces(struct(spec, "affinity"))
    return False


def _reaches_namespaces(affinity: JsonObject) -> bool:
    for name in ("podAffinity", "podAntiAffinity"):
        rules = struct(affinity, name)
        terms = structs(rules, "requiredDuringSchedulingIgnoredDuringExecution") + [
            struct(each, "podAffinityTerm")
            for each in structs(rules, "preferredDuringSchedulingIgnoredDuringExecution")
        ]
        if any(each.get("namespaces") or each.get("namespaceSelector") is not None for each in terms):
            return True
    return False


def unspecified(pod: JsonObject, limited: Amounts) -> dict[str, list[str]]:
    """Limited amounts of CPU and memory that containers do not state, with the names of those containers."""
    found: dict[str, list[str]] = {}
    for name in sorted(limited):
        kind, _, rest = name.rpartition(".") if name.startswith(("requests.", "limits.")) else ("requests", "", name)
        if rest not in _PLAIN[:2]:
            continue
        spec = struct(pod, "spec")
        for container in structs(spec, "containers") + structs(spec, "initContainers"):
            if rest not in struct(container, "resources", kind):
                found.setdefault(name, []).append(text(container, "name"))
    return found
