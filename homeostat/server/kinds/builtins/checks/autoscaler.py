"""What HorizontalPodAutoscalers may look like, in both served versions."""

from __future__ import annotations

from homeostat.objects.errors import Cause, forbidden, invalid, required, unsupported
from homeostat.objects.identifiers import path_segment
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import integer, numbered, struct, text
from homeostat.server.kinds.builtins.value import check_required

_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_TARGETS = ("averageUtilization", "averageValue", "value")


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
    return causes


def _check_target_version(target: JsonObject, path: str) -> list[Cause]:
    """The API version of what is scaled. Only the core group has none, and only ReplicationControllers scale in it."""
    version = text(target, "apiVersion")
    if version.count("/") > 1:
        return [invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")]
    if "/" not in version and text(target, "kind") != "ReplicationController":
        return [invalid(f"{path}.apiVersion", version, "apiVersion must specify API group")]
    return []


def _check_metric(metric: JsonObject, path: str) -> list[Cause]:
    kind = text(metric, "type")
    if not kind:
        return [required(f"{path}.type", "must specify a metric source type")]
    if kind not in _SOURCES:
        return [unsupported(f"{path}.type", kind, _SOURCES)]
    given = [name for name in _SOURCES.values() if isinstance(metric.get(name), dict)]
    wanted = _SOURCES[kind]
    causes = [
        forbidden(f"{path}.{each}", "must populate the given metric source only") for each in given if each != wanted
    ]
    if wanted not in given:
        causes.append(required(f"{path}.{wanted}", "must populate information for the given metric source"))
    elif not any(struct(metric, wanted, "target").get(each) is not None for each in _TARGETS):
        message = "must set either a target raw value or a target utilization"
        causes.append(required(f"{path}.{wanted}.target.averageUtilization", message))
    return causes


CHECKS = {("autoscaling", "HorizontalPodAutoscaler"): _check_autoscaler}
