"""HorizontalPodAutoscalers: the size that the target should have, and the status with its conditions. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import Workload
from homeostat.operators.workloads.autoscalers.behavior import MOST_POLICIES, History, limited
from homeostat.operators.workloads.autoscalers.metrics import MetricError, Outcome, Proposal, Target
from homeostat.operators.workloads.status import is_same_status

SOON_S: Final = 1.0
PERIOD_S: Final = 15.0
"""How often Kubernetes reconciles an autoscaler; here changes are noticed at once, too."""
MOST_METRICS: Final = 50
_USUAL: Final = ({"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}},)
_OUT_OF_RANGE: Final = "the HPA was unable to compute the replica count: "


class Decision(msgspec.Struct, frozen=True):
    status: JsonObject | None = None
    scale: int | None = None
    """The new size of the target; None to leave it as it is."""
    reason: str = ""
    """Why it changes."""
    events: tuple[tuple[str, str], ...] = ()
    """Warnings: reason and message."""
    history: History = History()
    """With the recommendation; without the change, which counts once it has succeeded."""
    again_s: float = PERIOD_S


class _Status:
    """The status in the making."""

    def __init__(self, scaler: Workload, now: str) -> None:
        self.now = now
        self.conditions: list[JsonObject] = [dict(each) for each in scaler.status.get("conditions") or ()]

    def set(self, kind: str, status: str, reason: str, message: str) -> None:
        new: JsonObject = {"type": kind, "status": status, "reason": reason, "message": message}
        for place, former in enumerate(self.conditions):
            if former["type"] == kind:
                since = former.get("lastTransitionTime") if former["status"] == status else self.now
                self.conditions[place] = {**new, "lastTransitionTime": since}
                return
        self.conditions.append({**new, "lastTransitionTime": self.now})


def unreachable(scaler: Workload, why: str, now: str) -> Decision:
    """The target does not exist, or cannot be scaled."""
    made = _Status(scaler, now)
    message = f"the HPA controller was unable to get the target's current scale: {why}"
    made.set("AbleToScale", "False", "FailedGetScale", message)
    status = {"conditions": made.conditions, "observedGeneration": scaler.metadata.generation}
    return Decision(_changed(scaler, status), events=(("FailedGetScale", why),))


def metrics_of(scaler: Workload) -> Sequence[JsonObject]:
    """Those to compute; none if there are too many."""
    return () if _excess(scaler.spec) else scaler.spec.get("metrics") or _USUAL


def decide(
    scaler: Workload, target: Target, outcomes: Sequence[Outcome], history: History, *, now_s: float, now: str
) -> Decision:
    """`outcomes` are those of `metrics_of`; `now_s` counts for the history, `now` is written."""
    made = _Status(scaler, now)
    made.set("AbleToScale", "True", "SucceededGetScale", _GOT)
    current, least, most = target.replicas, scaler.spec.get("minReplicas", 1), scaler.spec["maxReplicas"]
    shown = scaler.status.get("currentMetrics")
    if current == 0 and least != 0:
        text = "scaling is disabled since the replica count of the target is zero"
        made.set("ScalingActive", "False", "ScalingDisabled", text)
        return _end(scaler, made, target, 0, "", history, shown)
    if current > most:
        return _end(scaler, made, target, most, "Current number of replicas above Spec.MaxReplicas", history, shown)
    if current < least:
        return _end(scaler, made, target, least, "Current number of replicas below Spec.MinReplicas", history, shown)
    if excess := _excess(scaler.spec):
        made.set("ScalingActive", "False", excess[0], f"{_OUT_OF_RANGE}{excess[1]}")
        return _end(scaler, made, target, current, "", history, shown, events=(excess,))
    found = [each for each in outcomes if isinstance(each, Proposal)]
    failures = [each for each in outcomes if isinstance(each, MetricError)]
    best = max(found, key=lambda each: each.replicas, default=None)
    shown = [each.status for each in found]
    if best is None or (failures and best.replicas < current):
        first, count = failures[0], len(outcomes)
        text = f"invalid metrics ({len(failures)} invalid out of {count}), first error is: {first}"
        made.set("ScalingActive", "False", first.reason, f"{_OUT_OF_RANGE}{first}")
        events = tuple((each.reason, str(each)) for each in failures)
        events = (*events, ("FailedComputeMetricsReplicas", text))
        return _end(scaler, made, target, current, "", history, shown, events=events)
    counted = f"the HPA was able to successfully calculate a replica count from {best.name}"
    made.set("ScalingActive", "True", "ValidMetricFound", counted)
    reason = _reason(best, current)
    history = history.with_recommendation(best.replicas, now_s)
    rate = limited(
        scaler.spec.get("behavior"),
        history,
        current=current,
        wanted=best.replicas,
        least=least,
        most=most,
        now_s=now_s,
    )
    made.set("AbleToScale", "True", *rate.able)
    if rate.limited is None:
        made.set("ScalingLimited", "False", "DesiredWithinRange", "the desired count is within the acceptable range")
    else:
        made.set("ScalingLimited", "True", *rate.limited)
    again_s = SOON_S if best.replicas != rate.replicas and least <= best.replicas <= most else PERIOD_S
    events = tuple((each.reason, str(each)) for each in failures)
    return _end(scaler, made, target, rate.replicas, reason, history, shown, events=events, again_s=again_s)


def _reason(best: Proposal, current: int) -> str:
    """As in Kubernetes: of the metrics alone, so none if only an earlier recommendation changes the size."""
    if best.replicas == current:
        return ""
    return f"{best.name} above target" if best.replicas > current else "All metrics below target"


_GOT: Final = "the HPA controller was able to get the target's current scale"


def _excess(spec: JsonObject) -> tuple[str, str] | None:
    """Reason and message if there is more to compute than an autoscaler may ask for."""
    count = len(spec.get("metrics") or ())
    if count > MOST_METRICS:
        return "TooManyMetrics", f"spec.metrics has {count} entries; the limit is {MOST_METRICS}; remove some"
    for direction in ("scaleUp", "scaleDown"):
        count = len(((spec.get("behavior") or {}).get(direction) or {}).get("policies") or ())
        if count > MOST_POLICIES:
            path = f"spec.behavior.{direction}.policies"
            return "TooManyPolicies", f"{path} has {count} entries; the limit is {MOST_POLICIES}; remove some"
    return None


def _end(
    scaler: Workload,
    made: _Status,
    target: Target,
    wanted: int,
    reason: str,
    history: History,
    shown: Sequence[JsonObject] | None,
    *,
    events: tuple[tuple[str, str], ...] = (),
    again_s: float = PERIOD_S,
) -> Decision:
    scales = wanted != target.replicas
    if scales:
        text = f"the HPA controller was able to update the target scale to {wanted}"
        made.set("AbleToScale", "True", "SucceededRescale", text)
    status: JsonObject = {
        "currentReplicas": target.status_replicas,
        "desiredReplicas": wanted,
        "currentMetrics": list(shown or ()),
        "conditions": made.conditions,
        "observedGeneration": scaler.metadata.generation,
    }
    if scales:
        status["lastScaleTime"] = made.now
    return Decision(_changed(scaler, status), wanted if scales else None, reason, events, history, again_s)


def _changed(scaler: Workload, status: JsonObject) -> JsonObject | None:
    return None if is_same_status(scaler.status, status) else status
