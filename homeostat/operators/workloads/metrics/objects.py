"""PodMetrics and NodeMetrics of `metrics.k8s.io`, as metrics-server would report them of what Pods use. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.operators.workloads.api import Container, Meta, Pod
from homeostat.operators.workloads.autoscalers.usage import Use, milli_of, milli_text

VERSION: Final = "v1beta1"
POD_METRICS: Final = Kind("metrics.k8s.io", VERSION, "pods", "PodMetrics", is_namespaced=True)
NODE_METRICS: Final = Kind("metrics.k8s.io", VERSION, "nodes", "NodeMetrics", is_namespaced=False)
RESOURCES: Final = ("cpu", "memory")
_WINDOW: Final = "1s"
_KIBI: Final = 1024
_USAGE: Final[JsonObject] = {
    "type": "object",
    "description": "What was used, by resource.",
    "additionalProperties": {"x-kubernetes-int-or-string": True},
}
_COMMON: Final[JsonObject] = {
    "timestamp": {"type": "string", "format": "date-time", "description": "The end of the time that was measured."},
    "window": {"type": "string", "description": "The length of the time that was measured."},
}
_CONTAINER: Final[JsonObject] = {
    "type": "object",
    "properties": {"name": {"type": "string", "description": "The name of the container."}, "usage": _USAGE},
}
POD_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "description": "What the containers of a Pod use.",
    "properties": {
        **_COMMON,
        "containers": {"type": "array", "description": "The containers of the Pod.", "items": _CONTAINER},
    },
}
NODE_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "description": "What the Pods of a Node use.",
    "properties": {**_COMMON, "usage": _USAGE},
}

Uses = Mapping[str, Mapping[str, int]]
"""In thousandths, by container and resource."""


def uses_of(pod: Pod, own: Mapping[str, Use], shared: Mapping[str, Use], *, among: int) -> Uses:
    """What each container uses: what its Pod uses, or else its part of what so many Pods use together; empty if that
    is unknown. A percentage is of what the container requests; an amount is divided equally.
    """
    found: dict[str, dict[str, int]] = {each.name: {} for each in pod.spec.containers}
    for name in RESOURCES:
        use, count = (own[name], 1) if name in own else (shared.get(name), among)
        if use is None:
            continue
        for number, container in enumerate(pod.spec.containers):
            found[container.name][name] = _part(use, container, name, number, len(found)) // count
    return found if any(found.values()) else {}


def _part(use: Use, container: Container, name: str, number: int, count: int) -> int:
    if use.percent is not None:
        return use.of(milli_of(container.resources.requests.get(name) or 0))
    # The first ones get what cannot be divided.
    return use.milli // count + (number < use.milli % count)


def pod_metrics(pod: Pod, uses: Uses, now: str) -> JsonObject:
    containers = [{"name": name, "usage": _quantities(found)} for name, found in uses.items()]
    return {**_head(POD_METRICS, pod.metadata, now), "containers": containers}


def node_metrics(node: Meta, uses: Iterable[Uses], now: str) -> JsonObject:
    total = dict.fromkeys(RESOURCES, 0)
    for each in uses:
        for found in each.values():
            for name, milli in found.items():
                total[name] += milli
    return {**_head(NODE_METRICS, node, now), "usage": _quantities(total)}


def _head(kind: Kind, meta: Meta, now: str) -> JsonObject:
    metadata: JsonObject = {"name": meta.name, "creationTimestamp": now}
    if meta.namespace:
        metadata["namespace"] = meta.namespace
    if meta.labels:
        metadata["labels"] = meta.labels
    return {
        "kind": kind.kind,
        "apiVersion": kind.api_version,
        "metadata": metadata,
        "timestamp": now,
        "window": _WINDOW,
    }


def _quantities(uses: Mapping[str, int]) -> JsonObject:
    return {name: _bytes(milli) if name == "memory" else milli_text(milli) for name, milli in uses.items()}


def _bytes(milli: int) -> str:
    whole = milli // 1000
    return f"{whole // _KIBI}Ki" if whole and whole % _KIBI == 0 else str(whole)
