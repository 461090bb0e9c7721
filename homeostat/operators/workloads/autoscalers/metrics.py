"""How many replicas a metric asks for, by the formula of Kubernetes. Pure.

The number of replicas is scaled by the ratio of the use to its target, rounded up, unless the ratio is within the
tolerance. Pods that are not ready, or that nothing is known of, count against the direction of the change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import ceil
from typing import Final, NamedTuple

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.quantity import QuantityError
from homeostat.operators.workloads.api import Pod
from homeostat.operators.workloads.autoscalers.usage import Use, milli_of, milli_text, request_of

TOLERANCE: Final = 0.1
Key = tuple[str, str]
Uses = Mapping[Key, int]
"""What Pods use of a metric in thousandths, by key."""


class MetricError(ValueError):
    """A metric has no value: the reason of the condition, and why."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Tolerance(NamedTuple):
    up: float = TOLERANCE
    down: float = TOLERANCE

    def includes(self, ratio: float) -> bool:
        return 1.0 - self.down <= ratio <= 1.0 + self.up


class Target(msgspec.Struct, frozen=True, dict=True):
    """What an autoscaler scales, as the metrics see it. What several metrics ask of each Pod is computed once."""

    pods: Sequence[Pod]
    """Those that its selector matches and that have neither ended nor are being deleted."""
    uses: Mapping[Key, Mapping[str, Use]]
    """What Pods use, by key of the Pod."""
    load: Mapping[str, Use]
    """What all of them use together."""
    replicas: int
    status_replicas: int
    tolerance: Tolerance = Tolerance()

    @cached_property
    def ready(self) -> Sequence[Key]:
        return [each.key for each in self.pods if each.is_ready]

    @cached_property
    def unready(self) -> Sequence[Key]:
        return [each.key for each in self.pods if not each.is_ready]

    @cached_property
    def _requests(self) -> dict[str, dict[Key, int | None]]:
        return {}

    def requests(self, name: str) -> Mapping[Key, int | None]:
        """What Pods request of a resource, in thousandths; None for one that does not say so."""
        if name not in self._requests:
            self._requests[name] = {each.key: request_of(each, name) for each in self.pods}
        return self._requests[name]


class Proposal(NamedTuple):
    replicas: int
    name: str
    """As the conditions and Events say it."""
    status: JsonObject
    """The entry of `status.currentMetrics`."""


Outcome = Proposal | MetricError


def outcome(metric: JsonObject, target: Target) -> Outcome:
    try:
        return _propose(metric, target)
    except MetricError as error:
        return error


def _propose(metric: JsonObject, target: Target) -> Proposal:
    kind = metric.get("type")
    try:
        match kind:
            case "Resource":
                return _resource(metric["resource"], target)
            case "Pods":
                return _pods(metric["pods"], target)
            case "Object" | "External":
                return _outside(kind, metric[kind.lower()], target)
    except QuantityError as error:
        raise MetricError("InvalidMetricSourceType", f"invalid quantity: {error}") from error
    reason = "FailedGetContainerResourceMetric" if kind == "ContainerResource" else "InvalidMetricSourceType"
    raise MetricError(reason, f"metrics of type {kind} are not simulated; use one of Resource, Pods, Object, External")


def _resource(source: JsonObject, target: Target) -> Proposal:
    name, wanted = source["name"], source.get("target") or {}
    percent: int | None = wanted.get("averageUtilization")
    if percent is None:
        replicas, average = _by_average(name, "FailedGetResourceMetric", wanted, target)
        current: JsonObject = {"averageValue": milli_text(average)}
        return Proposal(replicas, f"{name} resource", _status("Resource", {"name": name}, current))
    requests: dict[Key, int] = {}
    for key, request in target.requests(name).items():
        if request is None:
            text = f"failed to get {name} utilization: missing request for {name} of Pod {key[1]}"
            raise MetricError("FailedGetResourceMetric", text)
        requests[key] = request
    found = _measured(name, target)
    if not found or not sum(requests[each] for each in found):
        text = f"failed to get {name} utilization: did not receive metrics for targeted pods (pods might be unready)"
        raise MetricError("FailedGetResourceMetric", text)

    aim = max(percent, 1)

    def ratio(uses: Uses) -> float:
        return sum(uses.values()) * 100 // sum(requests[each] for each in uses) / aim

    fallback = {key: value * max(100, percent) // 100 for key, value in requests.items()}
    replicas = _replicas(target, found, fallback, ratio)
    utilization = sum(found.values()) * 100 // sum(requests[each] for each in found)
    current = {"averageUtilization": utilization, "averageValue": milli_text(sum(found.values()) // len(found))}
    title = f"{name} resource utilization (percentage of request)"
    return Proposal(replicas, title, _status("Resource", {"name": name}, current))


def _pods(source: JsonObject, target: Target) -> Proposal:
    name = source["metric"]["name"]
    replicas, average = _by_average(name, "FailedGetPodsMetric", source.get("target") or {}, target)
    status = _status("Pods", {"metric": source["metric"]}, {"averageValue": milli_text(average)})
    return Proposal(replicas, f"pods metric {name}", status)


def _by_average(name: str, reason: str, wanted: JsonObject, target: Target) -> tuple[int, int]:
    """The replicas, and what a Pod uses on average."""
    aim = milli_of(wanted.get("averageValue"))
    found = _measured(name, target)
    if not found or not aim:
        text = f"unable to get metric {name}: no metrics returned for targeted pods (pods might be unready)"
        raise MetricError(reason, text)

    def ratio(uses: Uses) -> float:
        return sum(uses.values()) / len(uses) / aim

    replicas = _replicas(target, found, dict.fromkeys((each.key for each in target.pods), aim), ratio)
    return replicas, sum(found.values()) // len(found)


def _measured(name: str, target: Target) -> dict[Key, int]:
    """What each ready Pod uses of a metric, in thousandths, if its own annotation or that of the target says so."""
    shared, count, found = target.load.get(name), max(len(target.ready), 1), {}
    requests = target.requests(name)
    for key in target.ready:
        own = target.uses[key].get(name) if key in target.uses else None
        if own is not None:
            found[key] = own.of(requests[key] or 0)
        elif shared is not None:
            found[key] = shared.of(requests[key] or 0) // count
    return found


def _replicas(target: Target, found: Uses, fallback: Uses, ratio_of: Callable[[Uses], float]) -> int:
    """`fallback` is what a Pod that nothing is known of is taken to use when there are too many."""
    ratio = ratio_of(found)
    missing = [each for each in target.ready if each not in found]
    counts_unready = bool(target.unready) and ratio > 1.0
    if not missing and not counts_unready:
        return target.replicas if target.tolerance.includes(ratio) else ceil(ratio * len(found))
    uses = {**found, **{each: 0 if ratio > 1.0 else fallback[each] for each in missing if ratio != 1.0}}
    if counts_unready:
        uses |= dict.fromkeys(target.unready, 0)
    new = ratio_of(uses)
    if target.tolerance.includes(new) or (ratio < 1.0 < new) or (new < 1.0 < ratio):
        return target.replicas
    replicas = ceil(new * len(uses))
    is_against = (new < 1.0 and replicas > target.replicas) or (new > 1.0 and replicas < target.replicas)
    return target.replicas if is_against else replicas


def _outside(kind: str, source: JsonObject, target: Target) -> Proposal:
    """A metric that is not of Pods: of an object, or of something outside."""
    name, wanted = source["metric"]["name"], source.get("target") or {}
    use = target.load.get(name)
    if use is None:
        text = f"unable to get {kind.lower()} metric {name}: no metrics returned; annotate the target of the autoscaler"
        raise MetricError(f"FailedGet{kind}Metric", text)
    parts: JsonObject = {part: source[part] for part in ("metric", "describedObject") if part in source}
    described = (source.get("describedObject") or {}).get("kind")
    title = f"{described} metric {name}" if kind == "Object" else f"external metric {name}"
    aim = milli_of(wanted.get("averageValue") or wanted.get("value") or 0)
    if not aim:
        raise MetricError(
            f"FailedGet{kind}Metric", f"{kind.lower()} metric {name} has no target; set value or averageValue"
        )
    if "averageValue" in wanted:
        replicas = target.status_replicas
        if not replicas or not target.tolerance.includes(use.milli / (aim * replicas)):
            replicas = -(-use.milli // aim)
        current: JsonObject = {"averageValue": milli_text(-(-use.milli // max(target.status_replicas, 1)))}
    else:
        ratio = use.milli / aim
        replicas = target.replicas if target.tolerance.includes(ratio) else ceil(ratio * len(target.ready))
        current = {"value": milli_text(use.milli)}
    return Proposal(replicas, title, _status(kind, parts, current))


def _status(kind: str, parts: JsonObject, current: JsonObject) -> JsonObject:
    return {"type": kind, kind.lower(): {**parts, "current": current}}
