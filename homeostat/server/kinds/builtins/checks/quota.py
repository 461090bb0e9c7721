"""What ResourceQuotas and LimitRanges may look like."""

from __future__ import annotations

from homeostat.objects.errors import Cause, are_enough, duplicate, forbidden, invalid, required
from homeostat.objects.identifiers import qualified_name
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.quantity import Quantity
from homeostat.server.kinds.builtins.checks.pods.resources import check_resource_name, is_overcommitted
from homeostat.server.kinds.builtins.members import numbered, strings, struct, text
from homeostat.server.kinds.builtins.value import check_quantity, check_text, quantity_of

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
_COUNTED = frozenset(
    {"pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"}
    | {"persistentvolumeclaims", "services.nodeports", "services.loadbalancers"}
)
_NANOS = 10**9
_SUITABLE = dict.fromkeys(_SCOPES, _OF_PODS) | {"BestEffort": {"pods"}, "VolumeAttributesClass": _OF_CLAIMS}
_PAGES = ("hugepages-", "requests.hugepages-")
_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_NO_STANDARD = "must be a standard resource type or fully qualified"


def _is_standard(name: str) -> bool:
    return name in _STANDARD or name.startswith(_PAGES)


def _check_name(name: str, path: str) -> list[Cause]:
    """The name of any resource."""
    if causes := check_text(name, path, qualified_name):
        return causes
    is_known = "/" in name or name == "storage" or name in _STANDARD or name.startswith(_PAGES[0])
    return [] if is_known else [invalid(path, name, _NO_STANDARD)]


def _check_quota_name(name: str, path: str) -> list[Cause]:
    causes = check_text(name, path, qualified_name)
    if not causes and "/" not in name and name != "storage" and not _is_standard(name):
        causes.append(invalid(path, name, _NO_STANDARD))
    if "/" not in name and not _is_standard(name):
        causes.append(invalid(path, name, "must be a standard resource for quota"))
    return causes


def _check_amount(name: str, value: Json, path: str) -> list[Cause]:
    return _check_quota_name(name, path) + check_quantity(value, path) + _check_whole(name, value, path)


def _check_whole(name: str, value: Json, path: str) -> list[Cause]:
    """Only amounts of standard resources that are measured and not counted may have fractions."""
    is_device = "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")
    amount = quantity_of(value) if is_device or name in _COUNTED else None
    if amount is None or amount.nanos % _NANOS == 0:
        return []
    return [invalid(path, value, "must be an integer")]


def _check_resource_quota(obj: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    spec = struct(obj, "spec")
    for name, value in struct(spec, "hard").items():
        at = f"spec.hard[{name}]"
        causes += _check_amount(name, value, at)
    standard = [name for name in struct(spec, "hard") if _is_standard(name)]
    scopes = strings(spec, "scopes")
    for scope in scopes:
        if scope not in _SCOPES:
            causes.append(invalid("spec.scopes", scopes, "unsupported scope"))
        causes += _check_suitable(standard, scope, "spec.scopes", scopes)
        if are_enough(causes):
            return causes
    causes += _check_scope_conflicts(scopes, "spec.scopes")
    selector = struct(spec, "scopeSelector")
    path = "spec.scopeSelector.matchExpressions"
    for _, each in numbered(selector, "matchExpressions", "spec.scopeSelector"):
        causes += _check_scope_expression(each, path)
        causes += _check_suitable(standard, text(each, "scopeName"), path, selector)
        if are_enough(causes):
            return causes
    names = [text(each, "scopeName") for _, each in numbered(selector, "matchExpressions", "")]
    return causes + _check_scope_conflicts(names, path)


def check_quota_status(obj: JsonObject) -> list[Cause]:
    """For a status that somebody writes: the server replaces what is stored by its own count."""
    status = struct(obj, "status")
    return [
        cause
        for member in ("hard", "used")
        for name, value in struct(status, member).items()
        for cause in _check_amount(name, value, f"status.{member}[{name}]")
    ]


def _check_scope_conflicts(scopes: list[str], path: str) -> list[Cause]:
    return [invalid(path, scopes, "conflicting scopes") for pair in _OPPOSITES if pair.issubset(scopes)]


def _check_suitable(standard: list[str], scope: str, path: str, given: Json) -> list[Cause]:
    """`standard` are the names of resources that the scope has to suit."""
    suitable = _SUITABLE.get(scope, _STANDARD)
    unsuitable = sum(name not in suitable for name in standard)
    return [invalid(path, given, "unsupported scope applied to resource")] * unsuitable if unsuitable else []


def _check_scope_expression(expression: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    scope, operator, values = text(expression, "scopeName"), text(expression, "operator"), strings(expression, "values")
    if scope not in _SCOPES:
        causes.append(invalid(f"{path}.scopeName", scope, "unsupported scope"))
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
        causes += _check_type(kind, f"{at}.type")
        if kind in kinds:
            causes.append(duplicate(f"{at}.type", kind))
        kinds.add(kind)
        causes += _check_limit(limit, kind, at)
    return causes


def _check_type(kind: str, path: str) -> list[Cause]:
    if causes := check_text(kind, path, qualified_name):
        return causes
    told = "must be a standard limit type or fully qualified"
    return [] if "/" in kind or kind in _TYPES else [invalid(path, kind, told)]


def _check_limit(limit: JsonObject, kind: str, path: str) -> list[Cause]:
    causes: list[Cause] = []
    check = check_resource_name if kind in ("Pod", "Container") else _check_name
    for member in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        amounts = struct(limit, member)
        if kind == "Pod" and member.startswith("default"):
            told = "may not be specified when `type` is 'Pod'"
            causes += [forbidden(f"{path}.{member}", told)] if amounts else []
            continue
        for name in amounts:
            causes += check(name, f"{path}.{member}[{name}]")
    if kind == "PersistentVolumeClaim" and not any("storage" in struct(limit, each) for each in ("min", "max")):
        told = "either minimum or maximum storage value is required, but neither was provided"
        causes.append(required(f"{path}.limits", told))
    return causes + _check_order(limit, path, is_pod=kind == "Pod") + _check_ratios(limit, path)


_ORDER = (
    ("min", "max", "min", "min", "max"),
    ("min", "defaultRequest", "defaultRequest", "min", "default request"),
    ("defaultRequest", "max", "defaultRequest", "default request", "max"),
    ("defaultRequest", "default", "defaultRequest", "default request", "default limit"),
    ("min", "default", "default", "min", "default"),
    ("default", "max", "default", "default", "max"),
)
"""Which amounts must not exceed which, whose fault it is otherwise, and the words for both."""


def _check_order(limit: JsonObject, path: str, *, is_pod: bool) -> list[Cause]:
    causes: list[Cause] = []
    for low, high, told, small_word, large_word in _ORDER:
        if is_pod and (low, high) != ("min", "max"):
            continue
        for name, value in struct(limit, low).items():
            small, large = quantity_of(value), quantity_of(struct(limit, high).get(name))
            if small is not None and large is not None and small > large:
                message = f"{small_word} value {small} is greater than {large_word} value {large}"
                causes.append(invalid(f"{path}.{told}[{name}]", str(small), message))
    for name, value in struct(limit, "default").items():
        whole, asked = quantity_of(value), quantity_of(struct(limit, "defaultRequest").get(name))
        if whole is not None and asked is not None and whole != asked and not (is_pod or is_overcommitted(name)):
            message = f"default value {whole} must equal to defaultRequest value {asked} in {name}"
            causes.append(invalid(f"{path}.defaultRequest[{name}]", str(asked), message))
    return causes


def _check_ratios(limit: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    for name, value in struct(limit, "maxLimitRequestRatio").items():
        ratio, at = quantity_of(value), f"{path}.maxLimitRequestRatio[{name}]"
        if ratio is None:
            continue
        if ratio < Quantity.parse("1"):
            causes.append(invalid(at, str(ratio), f"ratio {ratio} is less than 1"))
        low, high = quantity_of(struct(limit, "min").get(name)), quantity_of(struct(limit, "max").get(name))
        if low is not None and high is not None and ratio.nanos * low.nanos > high.nanos * Quantity.parse("1").nanos:
            causes.append(invalid(at, str(ratio), f"ratio {ratio} is greater than max/min"))
    return causes


CHECKS = {("", "ResourceQuota"): _check_resource_quota, ("", "LimitRange"): _check_limit_range}
