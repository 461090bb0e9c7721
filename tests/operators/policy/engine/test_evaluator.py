"""The engine: selectors, exemptions, rules, times, and input that nobody meant."""

from math import inf

import msgspec
import pytest

from homeostat.objects.views.pod import Pod
from homeostat.operators.policy.engine.evaluator import CLEAN, NOT_SELECTED, compile_policy
from homeostat.operators.policy.engine.invalid import Fault
from homeostat.operators.policy.spec import (
    ClusterPolicySpec,
    DefaultResources,
    Exemption,
    MatchExpression,
    PolicySpec,
    Rule,
    Selector,
    Thresholds,
)
from tests.operators.policy.worlds import ALL, BARE, GOOD, NOW, WORST, container, evaluator_of, pod_json, to_pod

WEB = Selector(match_labels={"app": "web"})


def types(spec: PolicySpec, pod: Pod, now: float = NOW) -> list[str]:
    return [each.check.type for each in evaluator_of(spec).evaluate(pod, now=now).findings]


def test_evaluating_twice_gives_the_same() -> None:
    evaluator = evaluator_of(ALL)
    assert evaluator.evaluate(WORST, now=NOW) == evaluator.evaluate(WORST, now=NOW)


def test_a_clean_pod_costs_no_result_of_its_own() -> None:
    assert evaluator_of(ALL).evaluate(GOOD, now=NOW) is CLEAN


def test_replicas_share_their_declaration_and_its_findings() -> None:
    evaluator = evaluator_of(ALL)
    first, second = (to_pod(pod_json(container("a:latest"), name=name)) for name in ("a", "b"))
    assert first.spec is second.spec
    assert evaluator.evaluate(first, now=NOW) is evaluator.evaluate(second, now=NOW)


def test_more_declarations_than_are_remembered_are_distinguished() -> None:
    evaluator = evaluator_of(ALL)
    for at in range(1500):
        pod = to_pod(pod_json(container(f"a:{at}" if at % 2 else f"a{at}:latest")))
        assert len(evaluator.evaluate(pod, now=NOW).findings) == (at + 1) % 2


def test_the_findings_of_a_large_declaration_are_not_remembered() -> None:
    evaluator = evaluator_of(ALL)
    for image in ("a:latest", "x" * 100_000, "b:latest"):
        evaluator.evaluate(to_pod(pod_json(container(image))), now=NOW)
    assert [spec.containers[0].image for spec, _ in evaluator._known.values() if spec.containers] == [
        "a:latest",
        "b:latest",
    ]


@pytest.mark.parametrize("namespace", ["kube-system", "monitoring"])
def test_a_system_namespace_is_never_evaluated(namespace: str) -> None:
    pod = to_pod(pod_json(container("a:latest"), namespace=namespace))
    assert evaluator_of(ALL).evaluate(pod, now=NOW) is NOT_SELECTED


def test_a_selector_leaves_out_what_it_does_not_match() -> None:
    spec = msgspec.structs.replace(ALL, selector=WEB)
    body = pod_json(container("a:latest"), labels={"app": "web"})
    assert types(spec, to_pod(body)) == ["latest_tag"]
    assert evaluator_of(spec).evaluate(to_pod(pod_json(labels={"app": "db"})), now=NOW) is NOT_SELECTED


def test_a_policy_of_the_cluster_is_about_the_namespaces_that_it_selects() -> None:
    evaluator = evaluator_of(ClusterPolicySpec(namespace_selector=Selector(match_labels={"tier": "prod"})))
    assert evaluator.selects_namespace("shop", {"tier": "prod"})
    assert not evaluator.selects_namespace("shop", {})
    assert not evaluator.selects_namespace("kube-system", {"tier": "prod"})
    assert evaluator_of(ClusterPolicySpec()).selects_namespace("shop", {})


def test_a_pending_pod_is_evaluated_again_when_its_time_is_up() -> None:
    pod = to_pod(pod_json(phase="Pending", created="2026-11-16T11:59:50Z"))
    evaluator = evaluator_of(ALL)
    early = evaluator.evaluate(pod, now=NOW)
    assert (early.findings, early.recheck_at) == ((), NOW + 290)
    late = evaluator.evaluate(pod, now=early.recheck_at)
    assert ([each.check.type for each in late.findings], late.recheck_at) == (["pending"], inf)


FAULTS = [
    pytest.param(
        PolicySpec(rules=(Rule(name="a", expression="1 +"),)),
        "InvalidRule",
        "spec.rules[0].expression",
        id="no expression",
    ),
    pytest.param(
        PolicySpec(rules=(Rule(name="a", expression="1 + 1"),)),
        "InvalidRule",
        "spec.rules[0].expression",
        id="a number",
    ),
    pytest.param(
        PolicySpec(rules=(Rule(name="a", expression="nope"),)),
        "InvalidRule",
        "spec.rules[0].expression",
        id="unknown variable",
    ),
    pytest.param(
        PolicySpec(rules=(Rule(name="a", expression="true", message_expression="1"),)),
        "InvalidRule",
        "spec.rules[0].messageExpression",
        id="message is no text",
    ),
    pytest.param(
        PolicySpec(rules=(Rule(name="a", expression="true"),) * 2),
        "InvalidRule",
        "spec.rules[1].name",
        id="a name twice",
    ),
    pytest.param(
        PolicySpec(rules=(Rule(name="latest_tag", expression="true"),)),
        "InvalidRule",
        "spec.rules[0].name",
        id="the name of a check",
    ),
    pytest.param(
        PolicySpec(rules=(Rule(name="a", expression="(" * 3000),)),
        "InvalidRule",
        "spec.rules[0].expression",
        id="nested too deeply",
    ),
    pytest.param(
        PolicySpec(exemptions=(Exemption(reason="r", checks=("nope",)),)),
        "InvalidExemption",
        "spec.exemptions[0].checks",
        id="unknown check",
    ),
    pytest.param(
        PolicySpec(exemptions=(Exemption(reason="r", expires="soon"),)),
        "InvalidExemption",
        "spec.exemptions[0].expires",
        id="no time",
    ),
    pytest.param(
        PolicySpec(selector=Selector(match_expressions=(MatchExpression(key="a", operator="In"),))),
        "InvalidSelector",
        "spec.selector",
        id="no values",
    ),
    pytest.param(
        PolicySpec(exemptions=(Exemption(reason="r", selector=Selector(match_labels={"!": "a"})),)),
        "InvalidSelector",
        "spec.exemptions[0].selector",
        id="no label",
    ),
    pytest.param(
        ClusterPolicySpec(namespace_selector=Selector(match_labels={"!": "a"})),
        "InvalidSelector",
        "spec.namespaceSelector",
        id="no label of a namespace",
    ),
    pytest.param(
        PolicySpec(enforcement_mode="enforce", default_resources=DefaultResources(memory_limit="lots")),
        "InvalidResources",
        "spec.defaultResources.memoryLimit",
        id="no quantity",
    ),
    pytest.param(
        PolicySpec(enforcement_mode="enforce", default_resources=DefaultResources(cpu_request="2")),
        "InvalidResources",
        "spec.defaultResources.cpuRequest",
        id="a request above the limit",
    ),
    pytest.param(
        PolicySpec(thresholds=Thresholds(healthy=50)),
        "InvalidThresholds",
        "spec.thresholds",
        id="thresholds that cross",
    ),
]


@pytest.mark.parametrize(("spec", "reason", "path"), FAULTS)
def test_a_policy_that_is_invalid_is_a_fault_with_its_path(spec: PolicySpec, reason: str, path: str) -> None:
    fault = compile_policy(spec)
    assert isinstance(fault, Fault)
    assert (fault.reason, fault.path) == (reason, path)
    assert str(fault).startswith(f"{path}: ")


STRANGE = [
    pytest.param(b"{}", 0, id="nothing at all"),
    pytest.param(b'{"metadata":{"name":"a"}}', 0, id="no spec and no status"),
    pytest.param(b'{"spec":null,"status":null}', 0, id="null"),
    pytest.param(b'{"spec":{"containers":null},"status":{"containerStatuses":null,"phase":null}}', 0, id="null lists"),
    pytest.param(b'{"spec":{"containers":[{}]}}', 2, id="a container of nothing"),
    pytest.param(b'{"spec":{"containers":[{"image":""}],"more":1}}', 2, id="an empty image and unknown fields"),
    pytest.param(b'{"metadata":{"labels":{"a":null},"ownerReferences":[{}]}}', 0, id="null labels"),
    pytest.param(b'{"status":{"containerStatuses":[{"restartCount":9223372036854775807}]}}', 1, id="huge restarts"),
]


@pytest.mark.parametrize(("data", "violations"), STRANGE)
def test_a_strange_pod_is_evaluated_and_counts(data: bytes, violations: int) -> None:
    result = evaluator_of(ALL).evaluate(msgspec.json.decode(data, type=Pod), now=NOW)
    assert (len(result.findings), result.pods) == (violations, 1)


UNFIT = [
    pytest.param(b'{"spec":{"containers":7}}', "$.spec.containers", id="containers"),
    pytest.param(b'{"spec":{"containers":[{"image":[]}]}}', "$.spec.containers[0].image", id="image"),
    pytest.param(b'{"status":{"containerStatuses":[{"restartCount":"x"}]}}', "restartCount", id="restarts"),
]


@pytest.mark.parametrize(("data", "path"), UNFIT)
def test_a_field_of_the_wrong_type_is_named(data: bytes, path: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(data, type=Pod)
    assert path in str(caught.value)


def test_ten_thousand_containers_are_all_evaluated() -> None:
    containers = [container("a:latest", name=f"c{at}", liveness=False, readiness=False) for at in range(10_000)]
    assert len(evaluator_of(ALL).evaluate(to_pod(pod_json(*containers)), now=NOW).findings) == 30_000


def test_a_pod_not_yet_made_is_checked_only_for_its_spec() -> None:
    declared = evaluator_of(ALL).declared(WORST, now=NOW)
    assert [each.check.type for each in declared.findings] == ["latest_tag", "missing_liveness", "missing_readiness"]
    assert declared == evaluator_of(ALL).declared(BARE, now=NOW)


def test_resources_that_are_never_given_are_no_fault() -> None:
    assert not isinstance(compile_policy(PolicySpec(default_resources=DefaultResources(cpu_request="2"))), Fault)
