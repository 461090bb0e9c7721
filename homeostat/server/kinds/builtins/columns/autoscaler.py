"""The columns of Scales and of HorizontalPodAutoscalers: each metric as `current/target`, in both served versions."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.columns.column import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cell,
    Column,
    Printer,
    age_of,
    count,
    more,
    name_of,
    shown,
)
from homeostat.server.kinds.builtins.convert import autoscaler_to_v2
from homeostat.server.kinds.builtins.members import integer, struct, structs, text

_SHOWN_METRICS = 2
_UNKNOWN = "<unknown>"
_SOURCES = {
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _autoscaler(obj: JsonObject) -> list[Cell]:
    if obj.get("apiVersion") == "autoscaling/v1":
        obj = autoscaler_to_v2(obj)
    spec, status = struct(obj, "spec"), struct(obj, "status")
    target = struct(spec, "scaleTargetRef")
    minimum = spec.get("minReplicas")
    return [
        name_of(obj),
        f"{text(target, 'kind')}/{text(target, 'name')}",
        _metrics(structs(spec, "metrics"), structs(status, "currentMetrics")),
        UNSET if minimum is None else str(minimum),
        integer(spec, "maxReplicas"),
        integer(status, "currentReplicas"),
        age_of(obj),
    ]


def _metrics(specs: list[JsonObject], statuses: list[JsonObject]) -> str:
    if not specs:
        return NONE
    printed = [
        _metric(spec, statuses[index] if index < len(statuses) else {})
        for index, spec in enumerate(specs[:_SHOWN_METRICS])
    ]
    return more(printed, len(specs), separator=", ")


def _metric(spec: JsonObject, status: JsonObject) -> str:
    kind = text(spec, "type")
    source = _SOURCES.get(kind)
    if source is None:
        return "<unknown type>"
    target, current = struct(spec, source, "target"), struct(status, source, "current")
    if kind in ("Resource", "ContainerResource"):
        name = text(struct(spec, source), "name")
        return f"{name}: {_usage(current, target)}"
    if target.get("averageValue") is not None:
        average = f"{_value(current, 'averageValue')}/{target['averageValue']}"
        return average if kind == "Pods" else f"{average} (avg)"
    return f"{_value(current, 'value')}/{target.get('value') or 0}"


def _usage(current: JsonObject, target: JsonObject) -> str:
    if target.get("averageValue") is not None:
        return f"{_value(current, 'averageValue')}/{target['averageValue']}"
    used, wanted = current.get("averageUtilization"), target.get("averageUtilization")
    return f"{_UNKNOWN if used is None else f'{used}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"


def _value(current: JsonObject, name: str) -> str:
    value = current.get(name)
    return _UNKNOWN if value is None else str(value)


def _scale(obj: JsonObject) -> list[Cell]:
    replicas = [integer(struct(obj, member), "replicas") for member in ("spec", "status")]
    return [name_of(obj), *replicas, age_of(obj)]


PRINTERS = {
    ("autoscaling", "Scale"): Printer(
        (Column("Name", description=NAME.description), count("Desired"), count("Available"), AGE), _scale
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): Printer(
        (
            NAME,
            shown("Reference", "What is scaled."),
            shown("Targets", "Current and target value of each metric."),
            shown("MinPods"),
            shown("MaxPods"),
            shown("Replicas", "How many pods there are."),
            AGE,
        ),
        _autoscaler,
    ),
}
