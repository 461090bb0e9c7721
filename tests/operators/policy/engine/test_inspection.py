"""Manifests judged without a cluster: what is read, what is found, and what cannot be read."""

from typing import Any

import msgspec
import pytest

from homeostat.objects.json import JsonObject
from homeostat.objects.report.report import Problem, Report, Summary
from homeostat.objects.yaml.document import Document
from homeostat.operators.policy.document import PolicyDocument
from homeostat.operators.policy.engine.inspection import aggregate_line
from homeostat.operators.policy.engine.manifest import Budget, Subject, read_manifests
from homeostat.operators.policy.spec import (
    Exemption,
    MatchExpression,
    PolicySpec,
    Rule,
    Selector,
    Thresholds,
)
from tests.operators.policy.inspecting import inspect
from tests.operators.policy.worlds import ALL, NOW, container, evaluator_of, pod_json

BARE = container("web:latest", liveness=False, readiness=False)
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [BARE]}}


def workload(kind: str, api_version: str = "apps/v1", **spec: Any) -> JsonObject:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "web"},
        "spec": {"template": TEMPLATE, **spec},
    }


CRON_JOB = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "nightly", "namespace": "shop"},
    "spec": {"jobTemplate": {"spec": {"template": TEMPLATE}}},
}
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "web"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}},
}


def policy(spec: PolicySpec, name: str = "strict") -> PolicyDocument:
    return PolicyDocument("default", name, spec, evaluator_of(spec))


def report(spec: PolicySpec, *values: Any) -> Report:
    return inspect([Document("web.yaml", each, 3) for each in values], [policy(spec)], now=NOW)


def found(read: Any) -> list[Any]:
    return list(read_manifests([Document("a.yaml", read)]))


OF_JOBS = Selector(match_expressions=(MatchExpression(key="batch.kubernetes.io/job-name", operator="Exists"),))


def test_the_pods_of_jobs_have_the_labels_that_jobs_give_them() -> None:
    spared = Exemption(reason="it ends", checks=("missing_liveness", "missing_readiness"), selector=OF_JOBS)
    spec = msgspec.structs.replace(ALL, exemptions=(spared,))
    jobs = report(
        spec, CRON_JOB, {**workload("Job", "batch/v1"), "spec": {"template": {"spec": {"containers": [BARE]}}}}
    )
    assert [each.type for each in jobs.entries] == ["latest_tag", "latest_tag"]
    assert len(report(spec, workload("Deployment")).entries) == 3
    expected = "{'app': 'web', 'job-name': 'nightly', 'batch.kubernetes.io/job-name': 'nightly'}"
    named = Rule(name="named", expression=f"object.metadata.labels == {expected}")
    assert report(PolicySpec(rules=(named,)), CRON_JOB).entries == ()


KINDS = [
    pytest.param(pod_json(BARE), "Pod", "production", id="pod"),
    pytest.param(workload("Deployment"), "Deployment", "default", id="deployment"),
    pytest.param(workload("StatefulSet"), "StatefulSet", "default", id="stateful set"),
    pytest.param(workload("DaemonSet"), "DaemonSet", "default", id="daemon set"),
    pytest.param(workload("ReplicaSet"), "ReplicaSet", "default", id="replica set"),
    pytest.param(workload("ReplicationController", "v1"), "ReplicationController", "default", id="controller"),
    pytest.param(workload("Job", "batch/v1"), "Job", "default", id="job"),
    pytest.param(CRON_JOB, "CronJob", "shop", id="cron job"),
]


@pytest.mark.parametrize(("value", "kind", "namespace"), KINDS)
def test_the_pods_of_a_manifest_are_judged(value: JsonObject, kind: str, namespace: str) -> None:
    result = report(msgspec.structs.replace(ALL, probes_for_jobs=True), value)
    assert [each.type for each in result.entries] == ["latest_tag", "missing_liveness", "missing_readiness"]
    first = result.entries[0]
    assert (first.kind, first.namespace, first.source, first.line) == (kind, namespace, "web.yaml", 3)
    (score,) = result.summaries
    assert (score.title, score.score, score.subjects, score.findings) == ("default/strict", 90, 1, 3)


PASSED_OVER = [
    pytest.param({"apiVersion": "v1", "kind": "Service", "metadata": {}}, id="a service"),
    pytest.param({"apiVersion": "example.dev/v1", "kind": "Deployment", "spec": 7}, id="a foreign deployment"),
    pytest.param({"kind": "Deployment"}, id="no apiVersion"),
    pytest.param({}, id="nothing"),
]


@pytest.mark.parametrize("value", PASSED_OVER)
def test_what_has_no_pods_is_passed_over(value: JsonObject) -> None:
    assert found(value) == []


def test_lists_are_taken_apart() -> None:
    nested = {"apiVersion": "v1", "kind": "List", "items": [pod_json(), {"kind": "PodList", "items": [pod_json()]}]}
    assert [type(each) for each in found(nested)] == [Subject, Subject]


def test_lists_without_end_are_a_problem() -> None:
    value: JsonObject = pod_json()
    for _ in range(50):
        value = {"kind": "List", "items": [value]}
    (problem,) = found(value)
    assert isinstance(problem, Problem)
    assert "nested too deeply" in problem.message


TROUBLES = [
    pytest.param(7, "document: expected an object", id="a number"),
    pytest.param(None, "document: expected an object", id="null"),
    pytest.param({"kind": "List", "items": [7]}, "items[0].: expected an object", id="an item"),
    pytest.param(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": "x"}},
        'Pod "a": Expected `array | null`, got `str` - at `$.spec.containers`',
        id="containers",
    ),
    pytest.param(
        {**CRON_JOB, "spec": {"jobTemplate": {"spec": {"template": 7}}}},
        "$.spec.jobTemplate.spec.template",
        id="the template of a cron job",
    ),
    pytest.param({**CRON_JOB, "spec": 7}, "got `int` - at `$.spec`", id="the spec of a cron job"),
    pytest.param({**CRON_JOB, "spec": {"jobTemplate": []}}, "$.spec.jobTemplate", id="the job of a cron job"),
    pytest.param({**CRON_JOB, "metadata": {"name": 7}}, "$.metadata.name", id="the name of a cron job"),
    pytest.param({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": 7}, "without metadata", id="metadata"),
    pytest.param({**BUDGET, "spec": {"selector": 7}}, "$.spec.selector", id="a budget"),
]


@pytest.mark.parametrize(("value", "told"), TROUBLES)
def test_what_does_not_match_is_named_and_the_rest_is_checked(value: Any, told: str) -> None:
    result = report(ALL, value, pod_json(BARE))
    (problem,) = result.problems
    assert told in problem.message
    assert (problem.source, problem.line) == ("web.yaml", 3)
    assert len(result.entries) == 3


def test_a_budget_among_the_manifests_covers_its_workload() -> None:
    spec = PolicySpec(min_replicas=2, require_disruption_budget=True)
    bare = report(spec, workload("Deployment", replicas=1))
    assert [each.type for each in bare.entries] == ["few_replicas", "missing_budget"]
    assert isinstance(found(BUDGET)[0], Budget)
    covered = report(spec, workload("Deployment", replicas=2), BUDGET)
    assert (covered.entries, covered.problems) == ((), ())


def test_a_workload_without_findings_of_its_own_does_not_change_the_score() -> None:
    spec = msgspec.structs.replace(ALL, min_replicas=1)
    assert report(spec, workload("Deployment")).summaries == report(ALL, workload("Deployment")).summaries


def test_rules_see_the_pod_that_a_template_becomes() -> None:
    expression = "object.kind == 'Pod' && object.metadata.labels.app == 'web' && object.metadata.name == 'web'"
    spec = PolicySpec(rules=(Rule(name="own", expression=expression),))
    assert report(spec, workload("Deployment")).entries == ()
    assert len(report(spec, {**workload("Deployment"), "metadata": {"name": "x"}}).entries) == 1


EMPTY = [
    pytest.param({"apiVersion": "apps/v1", "kind": "Deployment"}, id="no metadata and no spec"),
    pytest.param({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": None}}, id="no template"),
    pytest.param({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"metadata": None}}}, id="null"),
    pytest.param({**CRON_JOB, "spec": None}, id="a cron job without a spec"),
    pytest.param({"apiVersion": "v1", "kind": "Pod"}, id="a pod of nothing"),
]


@pytest.mark.parametrize("value", EMPTY)
def test_an_empty_manifest_counts_as_one_pod(value: JsonObject) -> None:
    spec = msgspec.structs.replace(ALL, rules=(Rule(name="own", expression="has(object.spec) || true"),))
    result = report(spec, value)
    assert (result.entries, result.problems, result.summaries[0].subjects) == ((), (), 1)


def test_every_policy_judges_every_manifest() -> None:
    policies = [policy(ALL, "a"), policy(PolicySpec(forbid_latest_tag=True), "b"), policy(PolicySpec(), "c")]
    result = inspect([Document("x", pod_json(BARE))], policies, now=NOW)
    assert [(each.title, each.score) for each in result.summaries] == [
        ("default/a", 90),
        ("default/b", 95),
        ("default/c", 100),
    ]
    assert [each.origin for each in result.entries] == ["default/a"] * 3 + ["default/b"]


def line(score: int, pods: int) -> Summary:
    return Summary(title="c", score=score, classification="", subjects=pods, findings=1, exempted=2)


def test_clusters_add_up_by_their_pods() -> None:
    assert aggregate_line([line(95, 50), line(60, 20), line(40, 10)]) == Summary(
        title="aggregate", score=79, classification="Stable", subjects=80, findings=3, exempted=6
    )
    assert aggregate_line([]).classification == "Healthy"


def test_the_class_of_several_clusters_is_by_the_thresholds_of_the_policy() -> None:
    thresholds = Thresholds(healthy=95, stable=90, degraded=85)
    assert aggregate_line([line(88, 1), line(90, 1)], thresholds=thresholds).classification == "Degraded"


JOBS = [
    pytest.param(None, ["latest_tag"], 2, id="by default without probes"),
    pytest.param(False, ["latest_tag"], 2, id="without probes"),
    pytest.param(True, ["latest_tag", "missing_liveness", "missing_readiness"], 0, id="with probes"),
]


@pytest.mark.parametrize("body", [CRON_JOB, workload("Job", "batch/v1")], ids=["CronJob", "Job"])
@pytest.mark.parametrize(("probes", "types", "exempted"), JOBS)
def test_jobs_need_probes_only_if_the_policy_says_so(
    body: JsonObject, probes: bool | None, types: list[str], exempted: int
) -> None:
    done = report(msgspec.structs.replace(ALL, probes_for_jobs=probes), body)
    assert [each.type for each in done.entries] == types
    assert done.summaries[0].exempted == exempted
