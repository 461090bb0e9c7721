"""The columns of RuntimeClasses, flow control and dynamic resource allocation."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.columns.column import (
    AGE,
    NAME,
    NONE,
    Cell,
    Printer,
    age_of,
    is_terminating,
    name_of,
    shown,
)
from homeostat.server.kinds.builtins.members import items, struct, structs, text

_QUEUING = ("queues", "handSize", "queueLengthLimit")


def _runtime_class(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), text(obj, "handler"), age_of(obj)]


def _flow_schema(obj: JsonObject) -> list[Cell]:
    spec = struct(obj, "spec")
    dangling = (text(each, "status") for each in structs(struct(obj, "status"), "conditions") if _dangles(each))
    method = spec.get("distinguisherMethod")
    return [
        name_of(obj),
        text(struct(spec, "priorityLevelConfiguration"), "name"),
        spec.get("matchingPrecedence"),
        text(method, "type") if isinstance(method, dict) else NONE,
        age_of(obj),
        next(dangling, "?"),
    ]


def _dangles(condition: JsonObject) -> bool:
    return text(condition, "type") == "Dangling"


def _priority_level(obj: JsonObject) -> list[Cell]:
    spec = struct(obj, "spec")
    limited = spec.get("limited")
    level: JsonObject = limited if isinstance(limited, dict) else {}
    queuing = struct(level, "limitResponse", "queuing")
    shares = level.get("nominalConcurrencyShares", NONE)
    return [name_of(obj), text(spec, "type"), shares, *(queuing.get(each, NONE) for each in _QUEUING), age_of(obj)]


def _claim(obj: JsonObject) -> list[Cell]:
    states = ["deleted"] if is_terminating(obj) else []
    status = struct(obj, "status")
    if status.get("allocation") is not None:
        states += ["allocated", "reserved"] if items(status, "reservedFor") else ["allocated"]
    elif not states:
        states = ["pending"]
    return [name_of(obj), ",".join(states), age_of(obj)]


def _slice(obj: JsonObject) -> list[Cell]:
    spec = struct(obj, "spec")
    return [
        name_of(obj),
        text(spec, "nodeName"),
        text(spec, "driver"),
        text(struct(spec, "pool"), "name"),
        age_of(obj),
    ]


def _plain(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), age_of(obj)]


_FLOW, _DEVICES = "flowcontrol.apiserver.k8s.io", "resource.k8s.io"
PRINTERS = {
    ("node.k8s.io", "RuntimeClass"): Printer((NAME, shown("Handler", "Who runs the containers."), AGE), _runtime_class),
    (_FLOW, "FlowSchema"): Printer(
        (
            NAME,
            shown("PriorityLevel"),
            shown("MatchingPrecedence", "The smallest number that matches wins."),
            shown("DistinguisherMethod"),
            AGE,
            shown("MissingPL", "Whether there is no such priority level."),
        ),
        _flow_schema,
    ),
    (_FLOW, "PriorityLevelConfiguration"): Printer(
        (
            NAME,
            shown("Type"),
            shown("NominalConcurrencyShares"),
            shown("Queues"),
            shown("HandSize"),
            shown("QueueLengthLimit"),
            AGE,
        ),
        _priority_level,
    ),
    (_DEVICES, "ResourceClaim"): Printer((NAME, shown("State", "Whether devices are allocated."), AGE), _claim),
    (_DEVICES, "ResourceClaimTemplate"): Printer((NAME, AGE), _plain),
    (_DEVICES, "DeviceClass"): Printer((NAME, AGE), _plain),
    (_DEVICES, "ResourceSlice"): Printer((NAME, shown("Node"), shown("Driver"), shown("Pool"), AGE), _slice),
}
