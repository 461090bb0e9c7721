"""Objects that are served in two shapes."""

from __future__ import annotations

import pytest

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.convert import (
    autoscaler_to_v1,
    autoscaler_to_v2,
    event_to_core,
    event_to_events,
)

CORE_EVENT: JsonObject = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "e"},
    "involvedObject": {"kind": "Pod"},
    "message": "m",
    "reason": "r",
    "type": "Normal",
    "source": {"component": "c"},
    "firstTimestamp": None,
    "lastTimestamp": "2026-01-02T03:04:05Z",
    "count": 2,
    "eventTime": None,
    "series": {"count": 2},
    "action": "a",
    "related": {"kind": "Node"},
    "reportingComponent": "rc",
    "reportingInstance": "ri",
}
EVENT: JsonObject = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": "e"},
    "regarding": {"kind": "Pod"},
    "note": "m",
    "reason": "r",
    "type": "Normal",
    "deprecatedSource": {"component": "c"},
    "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": "2026-01-02T03:04:05Z",
    "deprecatedCount": 2,
    "eventTime": None,
    "series": {"count": 2},
    "action": "a",
    "related": {"kind": "Node"},
    "reportingController": "rc",
    "reportingInstance": "ri",
}


def test_an_event_has_two_names_for_each_member() -> None:
    assert event_to_events(CORE_EVENT) == EVENT
    assert event_to_core(EVENT) == CORE_EVENT


def cpu(member: str, **value: object) -> JsonObject:
    return {"type": "Resource", "resource": {"name": "cpu", member: value}}


def v2(metrics: list[JsonObject], **more: JsonObject) -> JsonObject:
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 5, "metrics": metrics}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "annotations": {"own": "kept"}},
        "spec": {**spec, **more},
        "status": {"currentReplicas": 2},
    }


CPU = cpu("target", type="Utilization", averageUtilization=70)
MEMORY: JsonObject = {"type": "Resource", "resource": {"name": "memory", "target": {"averageValue": "1Gi"}}}


def test_a_cpu_target_is_all_that_v1_has() -> None:
    converted = autoscaler_to_v1(v2([CPU]))
    assert converted["apiVersion"] == "autoscaling/v1"
    assert converted["spec"]["targetCPUUtilizationPercentage"] == 70
    assert "metrics" not in converted["spec"]
    assert converted["metadata"]["annotations"] == {"own": "kept"}


def test_what_v1_cannot_say_travels_in_annotations() -> None:
    converted = autoscaler_to_v1(v2([CPU, MEMORY], behavior={"scaleDown": {"selectPolicy": "Min"}}))
    assert sorted(converted["metadata"]["annotations"]) == [
        "autoscaling.alpha.kubernetes.io/behavior",
        "autoscaling.alpha.kubernetes.io/metrics",
        "own",
    ]


@pytest.mark.parametrize(
    "original",
    [
        v2([CPU]),
        v2([CPU, MEMORY]),
        v2([MEMORY]),
        v2([CPU], behavior={"scaleUp": {"policies": []}}),
        {
            **v2([CPU]),
            "status": {
                "currentMetrics": [cpu("current", averageUtilization=5)],
                "conditions": [{"type": "AbleToScale", "status": "True"}],
            },
        },
    ],
    ids=["cpu", "cpu and memory", "memory", "behaviour", "status"],
)
def test_nothing_is_lost_on_the_way_to_v1_and_back(original: JsonObject) -> None:
    assert autoscaler_to_v2(autoscaler_to_v1(original)) == original


def test_a_conversion_leaves_its_object_alone() -> None:
    original = v2([CPU, MEMORY])
    autoscaler_to_v1(original)
    assert original == v2([CPU, MEMORY])


@pytest.mark.parametrize("text", ["", "{", "3", '{"a":1}', '["x"]'])
def test_an_annotation_that_somebody_wrote_is_no_metric_and_the_default_stays(text: str) -> None:
    obj = {"metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/metrics": text}}, "spec": {}}
    assert autoscaler_to_v2(obj)["spec"] == {"metrics": [cpu("target", type="Utilization", averageUtilization=80)]}
