"""How many replicas an autoscaler wants, how fast it may change them, and what its status says."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import Pod, Workload
from homeostat.operators.workloads.autoscalers.behavior import MOST_KEPT, History, Moment, limited, tolerance_of
from homeostat.operators.workloads.autoscalers.decide import Decision, decide, metrics_of, unreachable
from homeostat.operators.workloads.autoscalers.metrics import Target, outcome
from homeostat.operators.workloads.autoscalers.usage import Use, UseError, parse_use
from tests.operators.workloads.objects import pod, workload

NOW = "2026-11-17T12:00:00Z"
CPU: JsonObject = {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 50}}}


def pods(count: int, *, unready: int = 0, request: str = "100m") -> list[Pod]:
    container = {"name": "web", "resources": {"requests": {"cpu": request} if request else {}}}
    ready = [True] * (count - unready) + [False] * unready
    return [pod(f"web-{number}", ready=each, spec={"containers": [container]}) for number, each in enumerate(ready)]


def target(some: list[Pod], load: str = "", uses: dict[str, str] | None = None, **more: Any) -> Target:
    own = {("default", name): parse_use(text) for name, text in (uses or {}).items()}
    count = {"replicas": len(some), "status_replicas": len(some), **more}
    return Target(pods=some, uses=own, load=parse_use(load), **count)


def scaler(*metrics: JsonObject, least: int = 1, most: int = 10, **spec: Any) -> Workload:
    return workload("web", minReplicas=least, maxReplicas=most, metrics=list(metrics or (CPU,)), **spec)


def decided(found: Workload, aim: Target, history: History | None = None, now_s: float = 1000.0) -> Decision:
    outcomes = [outcome(each, aim) for each in metrics_of(found)]
    return decide(found, aim, outcomes, history or History(), now_s=now_s, now=NOW)


def conditions(decision: Decision) -> dict[str, tuple[str, str]]:
    assert decision.status is not None
    return {each["type"]: (each["status"], each["reason"]) for each in decision.status["conditions"]}


@pytest.mark.parametrize(
    ("aim", "replicas"),
    [
        (target(pods(2), "cpu=100m"), None),
        (target(pods(2), "cpu=109m"), None),
        (target(pods(2), "cpu=120m"), 3),
        (target(pods(2), "cpu=300%"), 6),
        (target(pods(4), "cpu=80m"), 2),
        (target(pods(2), "cpu=10"), 6),
        (target(pods(4, unready=2), "cpu=120m"), None),
        (target(pods(4, unready=2), "cpu=300m"), 6),
        (target(pods(4), uses={"web-0": "cpu=20m", "web-1": "cpu=20m", "web-2": "cpu=20m"}), None),
        (target(pods(4), uses={"web-0": "cpu=300m", "web-1": "cpu=300m"}), 8),
    ],
    ids=["on target", "tolerated", "above", "far above", "below", "limited", "unready", "still", "missing", "unknown"],
)
def test_the_size_follows_the_ratio_of_use_to_target(aim: Target, replicas: int | None) -> None:
    quick = {"scaleDown": {"stabilizationWindowSeconds": 0}}
    assert decided(scaler(behavior=quick), aim).scale == replicas


@pytest.mark.parametrize(
    ("metric", "load", "replicas"),
    [
        ({"type": "Resource", "resource": {"name": "cpu", "target": {"averageValue": "20m"}}}, "cpu=80m", 4),
        ({"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"averageValue": "10"}}}, "rps=31", 4),
        ({"type": "External", "external": {"metric": {"name": "q"}, "target": {"averageValue": "30"}}}, "q=120", 4),
        ({"type": "External", "external": {"metric": {"name": "q"}, "target": {"value": "100"}}}, "q=150", 3),
        ({"type": "Object", "object": {"metric": {"name": "q"}, "target": {"value": "100"}}}, "q=105", None),
    ],
)
def test_each_type_of_metric_counts(metric: JsonObject, load: str, replicas: int | None) -> None:
    found = decided(scaler(metric), target(pods(2), load))
    assert found.scale == replicas
    assert conditions(found)["ScalingActive"] == ("True", "ValidMetricFound")


@pytest.mark.parametrize(
    ("aim", "replicas", "reason"),
    [
        (target(pods(1)), 2, "Current number of replicas below Spec.MinReplicas"),
        (target(pods(9)), 8, "Current number of replicas above Spec.MaxReplicas"),
        (target([], replicas=0), None, ""),
    ],
)
def test_the_bounds_come_before_metrics(aim: Target, replicas: int | None, reason: str) -> None:
    found = decided(scaler(least=2, most=8), aim)
    assert (found.scale, found.reason) == (replicas, reason)
    if replicas is None:
        assert conditions(found)["ScalingActive"] == ("False", "ScalingDisabled")
    else:
        assert conditions(found)["AbleToScale"] == ("True", "SucceededRescale")


@pytest.mark.parametrize(
    ("metric", "aim", "reason", "said"),
    [
        (CPU, target(pods(2)), "FailedGetResourceMetric", "did not receive metrics for targeted pods"),
        (CPU, target(pods(2, request=""), "cpu=1"), "FailedGetResourceMetric", "missing request for cpu of Pod web-0"),
        ({"type": "ContainerResource"}, target(pods(2)), "FailedGetContainerResourceMetric", "not simulated"),
        (
            {"type": "External", "external": {"metric": {"name": "q"}, "target": {"value": "1"}}},
            target(pods(2)),
            "FailedGetExternalMetric",
            "annotate the target",
        ),
    ],
)
def test_a_metric_without_a_value_changes_nothing(metric: JsonObject, aim: Target, reason: str, said: str) -> None:
    found = decided(scaler(metric), aim)
    assert found.scale is None
    assert conditions(found)["ScalingActive"] == ("False", reason)
    assert [each[0] for each in found.events] == [reason, "FailedComputeMetricsReplicas"]
    assert said in found.events[0][1]


def test_a_metric_that_fails_stops_scaling_down_and_not_up() -> None:
    other: JsonObject = {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"averageValue": "10"}}}
    quick = {"scaleDown": {"stabilizationWindowSeconds": 0}}
    assert decided(scaler(CPU, other, behavior=quick), target(pods(4), "cpu=10m")).scale is None
    assert decided(scaler(CPU, other), target(pods(4), "cpu=400m")).scale == 8


@pytest.mark.parametrize(
    ("load", "size", "reason"),
    [
        ("cpu=300m", 6, "cpu resource utilization (percentage of request) above target"),
        ("cpu=200m", 5, ""),
        ("cpu=100m", None, ""),
    ],
    ids=["metrics", "earlier recommendation", "nothing"],
)
def test_the_reason_names_metrics_only_if_they_ask_for_another_size(load: str, size: int | None, reason: str) -> None:
    earlier = History(recommended=(Moment(990.0, 5 if size else 4),))
    found = decided(scaler(), target(pods(4), load), earlier)
    assert (found.scale, found.reason if found.scale else "") == (size, reason)


def rate(
    behavior: JsonObject, *, current: int, wanted: int, history: History | None = None
) -> tuple[int, str, str | None]:
    found = limited(behavior, history or History(), current=current, wanted=wanted, least=1, most=100, now_s=1000.0)
    return found.replicas, found.able[0], found.limited[0] if found.limited else None


@pytest.mark.parametrize(
    ("behavior", "current", "wanted", "history", "expected"),
    [
        ({}, 10, 12, History(), (12, "ReadyForNewScale", None)),
        ({}, 10, 50, History(), (20, "ReadyForNewScale", "ScaleUpLimit")),
        ({}, 1, 50, History(), (5, "ReadyForNewScale", "ScaleUpLimit")),
        ({}, 5, 50, History(grown=(Moment(990.0, 4),)), (5, "ReadyForNewScale", "ScaleUpLimit")),
        ({}, 5, 50, History(grown=(Moment(980.0, 4),)), (10, "ReadyForNewScale", "ScaleUpLimit")),
        ({}, 10, 3, History(recommended=(Moment(900.0, 8),)), (8, "ScaleDownStabilized", None)),
        ({}, 10, 3, History(recommended=(Moment(600.0, 8),)), (3, "ReadyForNewScale", None)),
        (
            {"scaleUp": {"stabilizationWindowSeconds": 60}},
            2,
            6,
            History(recommended=(Moment(970.0, 3),)),
            (3, "ScaleUpStabilized", None),
        ),
        (
            {"scaleDown": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]}},
            10,
            3,
            History(),
            (8, "ReadyForNewScale", "ScaleDownLimit"),
        ),
        (
            {"scaleDown": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]}},
            9,
            3,
            History(shrunk=(Moment(950.0, 1),)),
            (8, "ReadyForNewScale", "ScaleDownLimit"),
        ),
        (
            {
                "scaleUp": {
                    "selectPolicy": "Min",
                    "policies": [
                        {"type": "Pods", "value": 1, "periodSeconds": 60},
                        {"type": "Percent", "value": 50, "periodSeconds": 60},
                    ],
                }
            },
            10,
            30,
            History(),
            (11, "ReadyForNewScale", "ScaleUpLimit"),
        ),
        ({"scaleDown": {"selectPolicy": "Disabled"}}, 10, 3, History(), (10, "ReadyForNewScale", "ScaleDownLimit")),
        ({}, 1, 0, History(), (1, "ReadyForNewScale", "TooFewReplicas")),
        ({}, 90, 120, History(), (100, "ReadyForNewScale", "TooManyReplicas")),
    ],
)
def test_windows_and_policies_limit_the_change(
    behavior: JsonObject, current: int, wanted: int, history: History, expected: tuple[int, str, str | None]
) -> None:
    assert rate(behavior, current=current, wanted=wanted, history=history) == expected


POLICY: JsonObject = {"type": "Pods", "value": 1, "periodSeconds": 60}


@pytest.mark.parametrize(
    ("found", "reason", "said"),
    [
        (scaler(*[CPU] * 51), "TooManyMetrics", "spec.metrics has 51 entries; the limit is 50"),
        (
            scaler(behavior={"scaleDown": {"policies": [POLICY] * 51}}),
            "TooManyPolicies",
            "spec.behavior.scaleDown.policies has 51 entries; the limit is 50",
        ),
        (scaler(*[CPU] * 50, behavior={"scaleUp": {"policies": [POLICY] * 50}}), "ValidMetricFound", ""),
    ],
)
def test_more_than_an_autoscaler_may_compute_is_refused(found: Workload, reason: str, said: str) -> None:
    decision = decided(found, target(pods(2), "cpu=300m"))
    assert conditions(decision)["ScalingActive"] == ("True" if not said else "False", reason)
    assert said in str(decision.events)
    assert (decision.scale is None) == bool(said)


def test_what_several_metrics_ask_of_a_pod_is_computed_once() -> None:
    aim = target(pods(3, unready=1), "cpu=300m")
    assert decided(scaler(*[CPU] * 50), aim).scale is not None
    assert aim.requests("cpu") is aim.requests("cpu")
    assert aim.ready is aim.ready
    assert (len(aim.ready), len(aim.unready)) == (2, 1)


@pytest.mark.parametrize("seed", range(5))
def test_a_window_counts_all_recommendations_however_many_there_are(seed: int) -> None:
    choose, history, said = Random(seed), History(), list[Moment]()
    for step in range(1000):
        said.append(Moment(step * 0.2, choose.choice((3, 4, 5, 60 if step < 3 else 2))))
        history = history.with_recommendation(said[-1].replicas, said[-1].at_s)
    now_s = said[-1].at_s
    assert len(history.recommended) < 10
    for window_s in (0.1, 1, 60, 300, 199.9, 3600):
        inside = [each.replicas for each in said if each.at_s > now_s - window_s]
        found = [each.replicas for each in history.recommended if each.at_s > now_s - window_s]
        assert (min(found), max(found)) == (min(inside), max(inside))


def test_a_history_has_a_limit_and_its_furthest_recommendations_stay() -> None:
    history = History(recommended=tuple(Moment(float(step), 5000 - step) for step in range(MOST_KEPT)))
    for step in range(MOST_KEPT, MOST_KEPT + 20):
        history = history.with_recommendation(5000 - step, float(step)).with_change(2, 1, step / 10)
    ends = (history.recommended[0], history.recommended[-1])
    assert (len(history.recommended), ends) == (MOST_KEPT, (Moment(0.0, 5000), Moment(1019.0, 3981)))
    assert [each.replicas for each in history.shrunk] == [10, 10]


def test_a_change_counts_only_when_it_has_succeeded() -> None:
    found = decided(scaler(), target(pods(2), "cpu=120m"))
    assert found.scale == 3
    assert (found.history.grown, len(found.history.recommended)) == ((), 1)
    assert found.history.with_change(2, 3, 1001.0).grown == (Moment(1001.0, 1),)


def test_the_tolerance_may_be_set() -> None:
    exact = {"scaleUp": {"tolerance": "0"}, "scaleDown": {"tolerance": "0.5"}}
    aim = target(pods(2), "cpu=102m", tolerance=tolerance_of(exact))
    assert decided(scaler(behavior=exact), aim).scale == 3
    aim = target(pods(4), "cpu=110m", tolerance=tolerance_of(exact))
    assert decided(scaler(behavior=exact), aim).scale is None


def test_deciding_again_after_acting_changes_nothing() -> None:
    first = decided(scaler(), target(pods(2), "cpu=120m"))
    assert first.status is not None
    assert first.scale == 3
    settled = decided(scaler(status=first.status), target(pods(3), "cpu=120m"), first.history, now_s=1001.0)
    assert settled.scale is None
    assert settled.status is not None
    assert decided(scaler(status=settled.status), target(pods(3), "cpu=120m"), settled.history).status is None


def test_a_target_that_is_not_there_is_reported() -> None:
    found = unreachable(scaler(), 'Deployment "web" not found', NOW)
    assert conditions(found) == {"AbleToScale": ("False", "FailedGetScale")}


@pytest.mark.parametrize(
    "text",
    ["cpu", "=1", "cpu=much", "cpu=-5%", ",".join(f"m{n}=1" for n in range(51)), "cpu=1" + " " * 4096],
)
def test_an_invalid_use_is_explained(text: str) -> None:
    with pytest.raises(UseError, match="expected"):
        parse_use(text)
    assert parse_use("cpu=80%, rps=1.5") == {"cpu": Use(percent=80), "rps": Use(milli=1500)}


@pytest.mark.parametrize(("current", "wanted", "expected"), [(1, 9, 4), (2, 9, 4), (3, 9, 6), (5, 9, 9)])
def test_without_a_behavior_a_step_doubles_the_replicas(current: int, wanted: int, expected: int) -> None:
    found = limited(None, History(), current=current, wanted=wanted, least=1, most=100, now_s=1000.0)
    assert (found.replicas, found.limited is None) == (expected, expected == wanted)
