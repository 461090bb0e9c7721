"""kube-devops 0.2.0 held beside our engine: policies and Pods, and the answers that the original gives to them.

The answers in `data/kube-devops.json` were worked out from the specification of the original, without code of ours. One
case a line. Every Pod is two hours old, so that a Pending one is too old for every policy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from homeostat.objects.json import JsonObject, encode
from homeostat.operators.policy.admission.review import answer, judge, read_request
from homeostat.operators.policy.audit_result import violation_of
from homeostat.operators.policy.engine.score import is_healthy, summary
from homeostat.operators.policy.engine.totals import RunningTotals
from homeostat.operators.policy.spec import PolicySpec
from tests.operators.policy.worlds import NOW, container, evaluator_of, pod_json, to_pod

CASES: Any = msgspec.json.decode((Path(__file__).parent / "data" / "kube-devops.json").read_bytes())
EVALUATIONS, ADMISSIONS = CASES["evaluations"], CASES["admissions"]


def body_of(pod: Any, namespace: str = "production") -> JsonObject:
    given = pod["containers"]
    containers = [
        container(each["image"], name=each["name"], liveness=each["liveness"], readiness=each["readiness"])
        for each in given
    ]
    owner = (pod["owner"], "web-5d4f8b9c7f") if "owner" in pod else None
    body = pod_json(*containers, name=pod["name"], phase=pod["phase"], namespace=namespace, owner=owner)
    body["status"]["containerStatuses"] = [{"name": each["name"], "restartCount": each["restarts"]} for each in given]
    return body


@pytest.mark.parametrize("case", EVALUATIONS, ids=range(len(EVALUATIONS)))
def test_a_namespace_has_the_score_and_the_violations_of_the_original(case: Any) -> None:
    evaluator = evaluator_of(msgspec.convert(case["spec"], PolicySpec))
    pods = [to_pod(body_of(each)) for each in case["pods"]]
    running = RunningTotals({pod.name: evaluator.evaluate(pod, now=NOW) for pod in pods})
    totals = running.totals()
    message = summary(violations=totals.violations, pods=totals.pods, score=totals.score)
    assert case["status"] == {
        "healthScore": totals.score,
        "healthy": is_healthy(totals.score),
        "violations": totals.violations,
        "message": message,
    }
    assert case["violations"] == [msgspec.to_builtins(violation_of(*each)) for each in running.findings(1000)]


@pytest.mark.parametrize("case", ADMISSIONS, ids=[each["response"]["uid"] for each in ADMISSIONS])
def test_a_pod_is_admitted_or_denied_as_by_the_original(case: Any) -> None:
    request = {
        "uid": case["response"]["uid"],
        "namespace": case["namespace"],
        "operation": "CREATE",
        "object": body_of(case["pod"], case["namespace"]),
    }
    read = read_request(encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}))
    assert read is not None
    evaluator = evaluator_of(msgspec.convert(case["spec"], PolicySpec))
    assert answer(read.uid, judge(read, [evaluator], now=NOW))["response"] == case["response"]
