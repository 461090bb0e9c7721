"""What the remaining core kinds, Leases, Events and PriorityClasses may look like."""

from __future__ import annotations

from homeostat.objects.errors import Cause, are_enough, duplicate, forbidden, invalid, required, too_long, unsupported
from homeostat.objects.identifiers import config_key, dns1123_subdomain, qualified_name
from homeostat.objects.json import Json, JsonObject
from homeostat.server.kinds.builtins.members import integer, numbered, strings, struct, text
from homeostat.server.kinds.builtins.value import (
    check_counts,
    check_quantities,
    check_required,
    check_text,
    is_integer,
    quantity_of,
)

_MAX_DATA_BYTES = 1024 * 1024
_NAMESPACE_FINALIZERS = ("kubernetes",)
_MAX_PRIORITY = 1_000_000_000
_SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_OPPOSITES = (frozenset({"BestEffort", "NotBestEffort"}), frozenset({"Terminating", "NotTerminating"}))
_CLASSES = frozenset({"PriorityClass", "VolumeAttributesClass"})
_SCOPES = _CLASSES.union({"CrossNamespacePodAffinity"}, *_OPPOSITES)
_ONLY_EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_OF_PODS = frozenset({"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"})
_OF_CLAIMS = frozenset({"persistentvolumeclaims", "requests.storage"})
_STANDARD = (
    _OF_PODS
    | _OF_CLAIMS
    | {"ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage", "resourcequotas", "services"}
    | {"replicationcontrollers", "secrets", "configmaps", "services.nodeports", "services.loadbalancers"}
)
"""The names that a scope has to suit; others, such as `count/deployments.apps`, are not checked."""
_SUITABLE = dict.fromkeys(_SCOPES, _OF_PODS) | {"BestEffort": {"pods"}, "VolumeAttributesClass": _OF_CLAIMS}
# Keys that a Secret of the type requires.
_SECRET_KEYS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_ACCOUNT_TOKEN, _BASIC_AUTH = "kubernetes.io/service-account-token", "kubernetes.io/basic-auth"
_ACCOUNT_NAME = "kubernetes.io/service-account.name"


def _check_namespace(obj: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    for each in strings(struct(obj, "spec"), "finalizers"):
        causes += check_text(each, "spec.finalizers", qualified_name)
        if "/" not in each and each not in _NAMESPACE_FINALIZERS:
            message = "name is neither a standard finalizer name nor is it fully qualified"
            causes.append(invalid("spec.finalizers", each, message))
        if are_enough(causes):
            break
    return causes


def _check_config_map(obj: JsonObject) -> list[Cause]:
    data, binary = struct(obj, "data"), struct(obj, "binaryData")
    causes: list[Cause] = []
    size = 0
    for name, member in (("data", data), ("binaryData", binary)):
        for key, value in member.items():
            causes += check_text(key, f"{name}[{key}]", config_key)
            if are_enough(causes):
                return causes
            size += _decoded_size(value) if name == "binaryData" else _size(value)
    causes += [invalid(f"data[{key}]", key, "duplicate of key present in binaryData") for key in data if key in binary]
    # Kubernetes reports the total size without a field.
    return [*causes, too_long("[]", _MAX_DATA_BYTES)] if size > _MAX_DATA_BYTES else causes


def _size(value: Json) -> int:
    if not isinstance(value, str):
        return 0
    return len(value) if value.isascii() else len(value.encode())


def _decoded_size(value: Json) -> int:
    """How many bytes a base64 text holds."""
    return len(value) * 3 // 4 - value[-2:].count("=") if isinstance(value, str) else 0


def _check_secret(obj: JsonObject) -> list[Cause]:
    data = struct(obj, "data")
    causes: list[Cause] = []
    for key in data:
        causes += check_text(key, f"data[{key}]", config_key)
        if are_enough(causes):
            return causes
    if sum(_decoded_size(value) for value in data.values()) > _MAX_DATA_BYTES:
        causes.append(too_long("data", _MAX_DATA_BYTES))
    kind = text(obj, "type")
    causes += [required(f"data[{key}]") for key in _SECRET_KEYS.get(kind, ()) if key not in data]
    if kind == _BASIC_AUTH and "username" not in data and "password" not in data:
        causes += [required("data[username]"), required("data[password]")]
    if kind == _ACCOUNT_TOKEN and not text(struct(obj, "metadata", "annotations"), _ACCOUNT_NAME):
        causes.append(required(f"metadata.annotations[{_ACCOUNT_NAME}]"))
    return causes


def _check_resource_quota(obj: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    for name in ("spec", "status"):
        for member in ("hard", "used"):
            causes += check_quantities(struct(obj, name, member), f"{name}.{member}")
    spec = struct(obj, "spec")
    scopes = strings(spec, "scopes")
    for scope in scopes:
        if scope not in _SCOPES:
            causes.append(invalid("spec.scopes", scopes, "unsupported scope"))
        causes += _check_suitable(spec, scope, "spec.scopes", scopes)
    causes += _check_scope_conflicts(scopes, "spec.scopes")
    selector = struct(spec, "scopeSelector")
    path = "spec.scopeSelector.matchExpressions"
    for _, each in numbered(selector, "matchExpressions", "spec.scopeSelector"):
        causes += _check_scope_expression(spec, each, path)
    names = [text(each, "scopeName") for _, each in numbered(selector, "matchExpressions", "")]
    return causes + _check_scope_conflicts(names, path)


def _check_scope_conflicts(scopes: list[str], path: str) -> list[Cause]:
    return [invalid(path, scopes, "conflicting scopes") for pair in _OPPOSITES if pair.issubset(scopes)]


def _check_suitable(spec: JsonObject, scope: str, path: str, given: Json) -> list[Cause]:
    suitable = _SUITABLE.get(scope, _STANDARD)
    unsuitable = [name for name in struct(spec, "hard") if name in _STANDARD and name not in suitable]
    return [invalid(path, given, "unsupported scope applied to resource") for _ in unsuitable]


def _check_scope_expression(spec: JsonObject, expression: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    scope, operator, values = text(expression, "scopeName"), text(expression, "operator"), strings(expression, "values")
    if scope not in _SCOPES:
        causes.append(invalid(f"{path}.scopeName", scope, "unsupported scope"))
    causes += _check_suitable(spec, scope, path, spec.get("scopeSelector"))
    if scope in _SCOPES - _CLASSES and operator != "Exists":
        causes.append(invalid(f"{path}.operator", operator, _ONLY_EXISTS))
    if operator in ("In", "NotIn"):
        if not values:
            causes.append(
                required(
                    f"{path}.values", "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                )
            )
    elif operator not in ("Exists", "DoesNotExist"):
        causes.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    elif values:
        causes.append(
            invalid(
                f"{path}.values",
                values,
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            )
        )
    return causes


def _check_limit_range(obj: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    kinds: set[str] = set()
    for at, limit in numbered(struct(obj, "spec"), "limits", "spec"):
        kind = text(limit, "type")
        if kind in kinds:
            causes.append(duplicate(f"{at}.type", kind))
        kinds.add(kind)
        for member in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            causes += check_quantities(struct(limit, member), f"{at}.{member}")
        causes += _check_limit_order(limit, at)
    return causes


def _check_limit_order(limit: JsonObject, path: str) -> list[Cause]:
    """min <= defaultRequest <= default <= max, as far as they are given."""
    causes: list[Cause] = []
    order = ("min", "defaultRequest", "default", "max")
    for index, low in enumerate(order):
        for high in order[index + 1 :]:
            for name, value in struct(limit, low).items():
                small, large = quantity_of(value), quantity_of(struct(limit, high).get(name))
                if small is not None and large is not None and small > large:
                    message = f"{_WORDS[low]} value {small} is greater than {_WORDS[high]} value {large}"
                    causes.append(invalid(f"{path}.{low}[{name}]", str(small), message))
    return causes


_WORDS = {"min": "min", "defaultRequest": "default request", "default": "default", "max": "max"}


def _check_lease(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes: list[Cause] = []
    duration = spec.get("leaseDurationSeconds")
    if is_integer(duration) and spec["leaseDurationSeconds"] <= 0:
        causes.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    causes += check_counts(spec, "spec", "leaseTransitions")
    if spec.get("strategy") is not None and spec.get("holderIdentity") == "":
        causes.append(invalid("spec.holderIdentity", "", "must not be empty"))
    return causes


def _check_core_event(obj: JsonObject) -> list[Cause]:
    about, own = text(struct(obj, "involvedObject"), "namespace"), text(struct(obj, "metadata"), "namespace")
    if (about and own != about) or (not about and own not in ("", "default", "kube-system")):
        return [invalid("involvedObject.namespace", about, "does not match event.namespace")]
    return []


def _check_event(obj: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    if not obj.get("eventTime"):
        causes.append(required("eventTime"))
    controller = text(obj, "reportingController")
    if not controller:
        causes.append(required("reportingController"))
    else:
        causes += check_text(controller, "reportingController", qualified_name)
    for name, limit in (("reportingInstance", 128), ("action", 128), ("reason", 128)):
        value = text(obj, name)
        if not value:
            causes.append(required(name))
        elif len(value) > limit:
            causes.append(invalid(name, value, f"can have at most {limit} characters"))
    if len(text(obj, "note")) > 1024:
        causes.append(invalid("message", text(obj, "note"), "can have at most 1024 characters"))
    if text(obj, "type") not in ("Normal", "Warning"):
        causes.append(unsupported("type", text(obj, "type"), ("Normal", "Warning")))
    return causes


def _check_priority_class(obj: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    name = text(struct(obj, "metadata"), "name")
    is_system = name.startswith("system-")
    if is_system and _SYSTEM_PRIORITIES.get(name) != integer(obj, "value"):
        message = "priority class names with 'system-' prefix are reserved for system use only"
        causes.append(forbidden("metadata.name", message))
    if integer(obj, "value") > _MAX_PRIORITY and not is_system:
        message = f"maximum allowed value of a user defined priority is {_MAX_PRIORITY}"
        causes.append(forbidden("value", message))
    policy = text(obj, "preemptionPolicy")
    if policy and policy not in ("Never", "PreemptLowerPriority"):
        causes.append(unsupported("preemptionPolicy", policy, ("Never", "PreemptLowerPriority")))
    return causes


def _check_service_account(obj: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    for at, reference in numbered(obj, "imagePullSecrets", ""):
        if text(reference, "name"):
            causes += check_required(reference, "name", at, dns1123_subdomain)
    return causes


CHECKS = {
    ("", "Namespace"): _check_namespace,
    ("", "ConfigMap"): _check_config_map,
    ("", "Secret"): _check_secret,
    ("", "ServiceAccount"): _check_service_account,
    ("", "ResourceQuota"): _check_resource_quota,
    ("", "LimitRange"): _check_limit_range,
    ("", "Event"): _check_core_event,
    ("events.k8s.io", "Event"): _check_event,
    ("coordination.k8s.io", "Lease"): _check_lease,
    ("scheduling.k8s.io", "PriorityClass"): _check_priority_class,
}
