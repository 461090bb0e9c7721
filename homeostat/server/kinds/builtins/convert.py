"""Built-in kinds that are served in two shapes and stored in one.

Events: core/v1 is stored, events.k8s.io/v1 is the same object under other names. HorizontalPodAutoscaler:
autoscaling/v2 is stored. A v1 autoscaler says only a CPU target; other metrics, conditions and behaviour travel through
v1 in the `autoscaling.alpha.kubernetes.io/*` annotations, written as the v2 objects themselves (Kubernetes writes
flattened ones), so that nothing is lost on the way back.

Conversions return a new object and share its unchanged members; they never raise, whatever the JSON.
"""

from __future__ import annotations

import msgspec

from homeostat.objects.json import Json, JsonObject, encode
from homeostat.server.kinds.builtins.members import integer, struct, structs, text

_CORE_TO_EVENTS = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_EVENTS_TO_CORE = {new: old for old, new in _CORE_TO_EVENTS.items()}


def event_to_core(obj: JsonObject) -> JsonObject:
    """An events.k8s.io/v1 Event as core/v1. It has a source, also an empty one: clients read its members."""
    core = {"source": {}} | {_EVENTS_TO_CORE.get(name, name): value for name, value in obj.items()}
    return {**core, "apiVersion": "v1", "kind": "Event"}


def event_to_events(obj: JsonObject) -> JsonObject:
    """A core/v1 Event as events.k8s.io/v1."""
    event = {_CORE_TO_EVENTS.get(name, name): value for name, value in obj.items()}
    return {**event, "apiVersion": "events.k8s.io/v1", "kind": "Event"}


_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS, _BEHAVIOR = f"{_PREFIX}metrics", f"{_PREFIX}behavior"
_CURRENT, _CONDITIONS = f"{_PREFIX}current-metrics", f"{_PREFIX}conditions"
_DEFAULT_PERCENT = 80


def autoscaler_to_v2(obj: JsonObject) -> JsonObject:
    """An autoscaling/v1 HorizontalPodAutoscaler as autoscaling/v2."""
    spec, status = dict(struct(obj, "spec")), dict(struct(obj, "status"))
    metadata, kept = _without_annotations(struct(obj, "metadata"))
    metrics = [each for each in _kept_list(kept, _METRICS) if not _is_cpu_utilization(each)]
    if (target := spec.pop("targetCPUUtilizationPercentage", None)) is not None:
        metrics.insert(0, _cpu_metric("target", {"type": "Utilization", "averageUtilization": target}))
    # The default is applied here and not to the v1 object: only now are all of its metrics known.
    spec["metrics"] = metrics or [
        _cpu_metric("target", {"type": "Utilization", "averageUtilization": _DEFAULT_PERCENT})
    ]
    if isinstance(behavior := _decoded(kept.get(_BEHAVIOR)), dict):
        spec["behavior"] = behavior
    current = [each for each in _kept_list(kept, _CURRENT) if not _is_cpu_utilization(each)]
    if (used := status.pop("currentCPUUtilizationPercentage", None)) is not None:
        current.insert(0, _cpu_metric("current", {"averageUtilization": used}))
    if current:
        status["currentMetrics"] = current
    if conditions := _kept_list(kept, _CONDITIONS):
        status["conditions"] = conditions
    return _assembled(obj, "autoscaling/v2", metadata, spec, status)


def autoscaler_to_v1(obj: JsonObject) -> JsonObject:
    """An autoscaling/v2 HorizontalPodAutoscaler as autoscaling/v1."""
    spec, status = dict(struct(obj, "spec")), dict(struct(obj, "status"))
    annotations: dict[str, str] = {}
    metrics, current = structs(spec, "metrics"), structs(status, "currentMetrics")
    for name, value in (
        (_METRICS, [each for each in metrics if not _is_cpu_utilization(each)]),
        (_CURRENT, [each for each in current if not _is_cpu_utilization(each)]),
        (_BEHAVIOR, spec.pop("behavior", None)),
        (_CONDITIONS, status.pop("conditions", None)),
    ):
        if value:
            annotations[name] = encode(value).decode()
    spec.pop("metrics", None)
    status.pop("currentMetrics", None)
    if (target := _utilization(metrics, "target")) is not None:
        spec["targetCPUUtilizationPercentage"] = target
    if (used := _utilization(current, "current")) is not None:
        status["currentCPUUtilizationPercentage"] = used
    metadata, _ = _without_annotations(struct(obj, "metadata"))
    if annotations:
        metadata = {**metadata, "annotations": {**struct(metadata, "annotations"), **annotations}}
    return _assembled(obj, "autoscaling/v1", metadata, spec, status)


def _assembled(
    obj: JsonObject, api_version: str, metadata: JsonObject, spec: JsonObject, status: JsonObject
) -> JsonObject:
    parts = {"metadata": metadata, "spec": spec, "status": status}
    return {**obj, "apiVersion": api_version, **{name: parts[name] for name in parts if name in obj}}


def _cpu_metric(member: str, value: JsonObject) -> JsonObject:
    return {"type": "Resource", "resource": {"name": "cpu", member: value}}


def _is_cpu_utilization(metric: Json) -> bool:
    resource = struct(metric, "resource")
    is_cpu = struct(metric).get("type") == "Resource" and text(resource, "name") == "cpu"
    source = struct(resource, "target") or struct(resource, "current")
    return is_cpu and source.get("averageUtilization") is not None


def _utilization(metrics: list[JsonObject], member: str) -> int | None:
    found = next((each for each in metrics if _is_cpu_utilization(each)), None)
    return None if found is None else integer(struct(found, "resource", member), "averageUtilization")


def _without_annotations(metadata: JsonObject) -> tuple[JsonObject, JsonObject]:
    """The metadata without our annotations, and those annotations."""
    annotations = struct(metadata, "annotations")
    kept = {name: value for name, value in annotations.items() if name.startswith(_PREFIX)}
    if not kept:
        return metadata, kept
    rest = {name: value for name, value in annotations.items() if name not in kept}
    stripped = {name: value for name, value in metadata.items() if name != "annotations"}
    return ({**stripped, "annotations": rest} if rest else stripped), kept


def _kept_list(annotations: JsonObject, name: str) -> list[JsonObject]:
    found = _decoded(annotations.get(name))
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _decoded(value: Json) -> Json:
    """What an annotation holds, None where a person has written something else into it."""
    if not isinstance(value, str):
        return None
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
