"""Whatever a document says, it is judged or named: nothing makes the engine fail."""

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.json import encode
from homeostat.objects.report import github, html, sarif, table
from homeostat.objects.report import json as json_report
from homeostat.objects.yaml.document import Document
from homeostat.operators.policy.admission.review import answer, judge, read_request
from homeostat.operators.policy.bundle import load_bundle
from homeostat.operators.policy.document import (
    PolicyDocument,
    PolicyDocumentError,
    compare_policy,
    is_policy,
    read_policy,
)
from tests.examples import examples
from tests.operators.policy.inspecting import inspect
from tests.operators.policy.worlds import NOW, evaluator_of

HARDENED = PolicyDocument(
    "default", "hardened", load_bundle("hardened").spec, evaluator_of(load_bundle("hardened").spec)
)
NAMES = [
    "kind",
    "apiVersion",
    "metadata",
    "spec",
    "status",
    "items",
    "name",
    "namespace",
    "labels",
    "annotations",
    "ownerReferences",
    "containers",
    "image",
    "livenessProbe",
    "readinessProbe",
    "resources",
    "requests",
    "limits",
    "cpu",
    "securityContext",
    "runAsUser",
    "privileged",
    "volumes",
    "hostPath",
    "path",
    "template",
    "jobTemplate",
    "replicas",
    "selector",
    "matchLabels",
    "phase",
    "containerStatuses",
    "restartCount",
    "state",
    "lastState",
    "waiting",
    "reason",
    "creationTimestamp",
    "request",
    "object",
    "uid",
    "rules",
    "expression",
    "exemptions",
    "expires",
    "thresholds",
    "weights",
    "forbidLatestTag",
]
WORDS = ["Pod", "Deployment", "CronJob", "List", "DevOpsPolicy", "PodDisruptionBudget", "v1", "apps/v1", "batch/v1"]
WORDS += ["policy/v1", "devops.stochastic.io/v1", "Pending", "2026-11-16T11:59:50Z", "9999-12-31T23:59:59Z", "a:latest"]
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(WORDS)
)
values = st.recursive(
    leaves, lambda each: st.lists(each, max_size=3) | st.dictionaries(st.sampled_from(NAMES), each, max_size=6)
)
shells = st.sampled_from(
    [("Pod", "v1"), ("Deployment", "apps/v1"), ("CronJob", "batch/v1"), ("PodDisruptionBudget", "policy/v1")]
)
documents = st.one_of(
    values,
    st.builds(
        lambda shell, metadata, spec, status: {
            "kind": shell[0],
            "apiVersion": shell[1],
            "metadata": metadata,
            "spec": spec,
            "status": status,
        },
        shells,
        values,
        values,
        values,
    ),
)


@given(st.lists(documents, max_size=3))
@examples(80)
def test_any_documents_make_a_report(given: list[Any]) -> None:
    report = inspect([Document("a.yaml", each) for each in given], [HARDENED], now=NOW)
    assert len(report.summaries) == 1
    assert report.summaries[0].score in range(101)
    github.render(report)
    html.render(report)
    sarif.render(report, version="1")
    json_report.render(report)
    table.finding_rows(report)


@given(documents)
@examples(80)
def test_any_review_gets_an_answer(body: Any) -> None:
    request = read_request(encode({"request": {"uid": "u", "object": body}}))
    assert request is not None
    verdict = judge(request, [HARDENED.evaluator], now=NOW)
    assert answer("u", verdict)["response"]["allowed"] is verdict.is_allowed


@given(values, values)
@examples(80)
def test_any_policy_is_read_or_refused(metadata: Any, spec: Any) -> None:
    body = {"apiVersion": "devops.stochastic.io/v1", "kind": "DevOpsPolicy", "metadata": metadata, "spec": spec}
    assert is_policy(body)
    assert compare_policy(body, None)
    with suppress(PolicyDocumentError):
        read_policy(body)
