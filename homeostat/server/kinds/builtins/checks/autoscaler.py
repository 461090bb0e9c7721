"""What HorizontalPodAutoscalers may look like, in both served versions."""

from __future__ import annotations

from homeostat.objects.errors import Cause, forbidden, invalid, required, unsupported
from homeostat.objects.identifiers import dns1123_label, path_segment
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.checks.pods.resources import check_resource_name
from homeostat.server.kinds.builtins.members import integer, items, numbered, struct, text
from homeostat.server.kinds.builtins.value import check_choice, check_required, quantity_of

_SOURCES = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
"""In the order of Kubernetes: of several sources, it looks into the first."""
_TYPES = ("AverageValue", "Utilization", "Value")
_MOST_PERIOD_S, _MOST_WINDOW_S = 1800, 3600
_POLICIES, _SELECTIONS = ("Percent", "Pods"), ("Disabled", "Max", "Min")


def _check_autoscaler(obj: JsonObject) -> list[Cause]:
    spec = struct(obj, "spec")
    causes: list[Cause] = []
    # Scaling up from zero pods needs a metric that does not come from the pods.
    minimum, maximum = integer(spec, "minReplicas", 1), integer(spec, "maxReplicas")
    if minimum < 1:
        causes.append(invalid("spec.minReplicas", minimum, "must be greater than or equal to 1"))
    if maximum < 1:
        causes.append(invalid("spec.maxReplicas", maximum, "must be greater than 0"))
    if maximum < minimum:
        causes.append(invalid("spec.maxReplicas", maximum, "must be greater than or equal to `minReplicas`"))
    for name in ("kind", "name"):
        causes += check_required(struct(spec, "scaleTargetRef"), name, "spec.scaleTargetRef", path_segment)
    causes += _check_target_version(struct(spec, "scaleTargetRef"), "spec.scaleTargetRef")
    if integer(spec, "targetCPUUtilizationPercentage", 1) < 1:
        at, value = "spec.targetCPUUtilizationPercentage", spec["targetCPUUtilizationPercentage"]
        causes.append(invalid(at, value, "must be greater than 0"))
    for at, metric in numbered(spec, "metrics", "spec"):
        causes += _check_metric(metric, at)
    for name in ("scaleUp", "scaleDown"):
        if isinstance(rules := struct(spec, "behavior").get(name), dict):
            causes += _check_rules(rules, f"spec.behavior.{name}")
    return causes


def _check_rules(rules: JsonObject, path: str) -> list[Cause]:
    causes = check_choice(rules, "selectPolicy", path, _SELECTIONS)
    window, at = integer(rules, "stabilizationWindowSeconds"), f"{path}.stabilizationWindowSeconds"
    if window < 0:
        causes.append(invalid(at, window, "must be greater than or equal to zero"))
    if window > _MOST_WINDOW_S:
        causes.append(invalid(at, window, f"must be less than or equal to {_MOST_WINDOW_S}"))
    if not items(rules, "policies"):
        causes.append(required(f"{path}.policies", "must specify at least one Policy"))
    for place, policy in numbered(rules, "policies", path):
        if text(policy, "type") not in _POLICIES:
            causes.append(unsupported(f"{place}.type", text(policy, "type"), _POLICIES))
        for name in ("value", "periodSeconds"):
            if integer(policy, name) <= 0:
                causes.append(invalid(f"{place}.{name}", integer(policy, name), "must be greater than zero"))
        if integer(policy, "periodSeconds") > _MOST_PERIOD_S:
            message = f"must be less than or equal to {_MOST_PERIOD_S}"
            causes.append(invalid(f"{place}.periodSeconds", policy["periodSeconds"], message))
    return causes


def _check_target_version(target: JsonObject, path: str) -> list[Cause]:
    """The API version of what is scaled. Only the core group has none, and only ReplicationControllers scale in it."""
    version = text(target, "apiVersion")
    if causes := _check_group_version(version, f"{path}.apiVersion"):
        return causes
    if not version.rpartition("/")[0] and text(target, "kind") != "ReplicationController":
        return [invalid(f"{path}.apiVersion", version, "apiVersion must specify API group")]
    return []


def _check_group_version(version: str, path: str) -> list[Cause]:
    return [invalid(path, version, f"unexpected GroupVersion string: {version}")] if version.count("/") > 1 else []


def _check_metric(metric: JsonObject, path: str) -> list[Cause]:
    kind = text(metric, "type")
    causes = [] if kind else [required(f"{path}.type", "must specify a metric source type")]
    if kind not in _SOURCES:
        causes.append(unsupported(f"{path}.type", kind, _SOURCES))
    given = [name for name in _SOURCES.values() if isinstance(metric.get(name), dict)]
    if given:
        causes += _check_source(given[0], metric[given[0]], f"{path}.{given[0]}")
    wanted = _SOURCES.get(kind, "")
    if wanted and wanted not in given:
        causes.append(required(f"{path}.{wanted}", "must populate information for the given metric source"))
    if len(given) > 1:
        message = "must populate the given metric source only"
        causes += [forbidden(f"{path}.{each}", message) for each in given if each != wanted]
    return causes


def _check_source(kind: str, source: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    if kind == "object":
        at, described = f"{path}.describedObject", struct(source, "describedObject")
        for name in ("kind", "name"):
            causes += check_required(described, name, at, path_segment)
        causes += _check_group_version(text(described, "apiVersion"), f"{at}.apiVersion")
    if kind in ("resource", "containerResource"):
        causes += _check_resource(kind, source, path)
    else:
        causes += check_required(struct(source, "metric"), "name", f"{path}.metric", path_segment)
    target, at = struct(source, "target"), f"{path}.target"
    return causes + _check_target(target, at) + _check_bounds(kind, target, at)


def _check_resource(kind: str, source: JsonObject, path: str) -> list[Cause]:
    name = text(source, "name")
    causes: list[Cause] = []
    if not name:
        causes.append(required(f"{path}.name", "must specify a resource name"))
    elif kind == "containerResource":
        causes += check_resource_name(name, f"{path}.name")
    if kind == "containerResource":
        causes += check_required(source, "container", path, dns1123_label)
    return causes


def _check_target(target: JsonObject, path: str) -> list[Cause]:
    kind = text(target, "type")
    causes = [] if kind else [required(f"{path}.type", "must specify a metric target type")]
    if kind not in _TYPES:
        causes.append(invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue"))
    for name in ("value", "averageValue"):
        amount = quantity_of(target.get(name))
        if amount is not None and amount.nanos <= 0:
            causes.append(invalid(f"{path}.{name}", str(amount), "must be positive"))
    if integer(target, "averageUtilization", 1) < 1:
        causes.append(invalid(f"{path}.averageUtilization", target["averageUtilization"], "must be greater than 0"))
    return causes


def _check_bounds(kind: str, target: JsonObject, path: str) -> list[Cause]:
    """Which of the three amounts a source needs, and which it may not have together."""
    has_value, has_average, has_use = (
        target.get(name) is not None for name in ("value", "averageValue", "averageUtilization")
    )
    match kind:
        case "pods" if not has_average:
            return [required(f"{path}.averageValue", "must specify a positive target averageValue")]
        case "object" | "external" if not has_value and not has_average:
            return [required(f"{path}.averageValue", "must set either a target value or averageValue")]
        case "external" if has_value and has_average:
            message = "may not set both a target value for metric and a per-pod target"
            return [forbidden(f"{path}.value", message)]
        case "resource" | "containerResource" if not has_use and not has_average:
            message = "must set either a target raw value or a target utilization"
            return [required(f"{path}.averageUtilization", message)]
        case "resource" | "containerResource" if has_use and has_average:
            message = "may not set both a target raw value and a target utilization"
            return [forbidden(f"{path}.averageValue", message)]
    return []


CHECKS = {("autoscaling", "HorizontalPodAutoscaler"): _check_autoscaler}
