"""The record of evaluations: no repeats, no floods, no heaps."""

from datetime import timedelta
from math import inf

import msgspec
import pytest

from homeostat.objects.declared import Metadata, OwnerReference
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.validate import Validator
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.policy.api import (
    POLICY_AUDIT_RESULT,
    AuditSpec,
    ClusterDevOpsPolicy,
    DevOpsPolicy,
    PolicyAuditResult,
)
from homeostat.operators.policy.audit_result import (
    AuditAction,
    CreateResult,
    DeleteResult,
    Record,
    due_at,
    plan_audit,
    results_of,
    violation_of,
)
from homeostat.operators.policy.engine.check import HOST_PATH, Finding
from homeostat.operators.policy.engine.totals import Totals
from homeostat.operators.policy.spec import AuditResults, PolicySpec
from tests.operators.policy.worlds import ALL, GOOD, MOMENT, NOW, WORST, running_totals_of

OWNER = Metadata(name="strict", namespace="production", uid="u-1")
WIDE = ClusterDevOpsPolicy(metadata=Metadata(name="strict", uid="u-2"))


def policy_of(spec: PolicySpec, owner: Metadata = OWNER) -> DevOpsPolicy:
    return DevOpsPolicy(metadata=owner, spec=spec)


def record(score: int = 90, *held: PolicyAuditResult) -> Record:
    totals = Totals(pods=1, violations=2, points=100 - score)
    return Record("production", totals, kept=results_of(policy_of(PolicySpec()), held))


def result(score: int = 90, *, age_s: float = 0) -> AuditSpec:
    (action,) = plan_audit(policy_of(PolicySpec()), record(score), now=MOMENT - timedelta(seconds=age_s))
    assert isinstance(action, CreateResult)
    return msgspec.convert(action.body["spec"], AuditSpec)


def kept(spec: AuditSpec, name: str = "strict-1", owner: str = "DevOpsPolicy") -> PolicyAuditResult:
    reference = OwnerReference(api_version="devops.stochastic.io/v1", kind=owner, name="strict", uid="u")
    metadata = Metadata(name=name, namespace="production", uid=f"uid-{name}", owner_references=(reference,))
    return PolicyAuditResult(metadata=metadata, spec=spec)


def planned(spec: PolicySpec, new: int, *held: PolicyAuditResult) -> tuple[AuditAction, ...]:
    policy, told = policy_of(spec), record(new, *held)
    actions = plan_audit(policy, told, now=MOMENT)
    assert bool(actions) == (due_at(policy, told, now=MOMENT) <= NOW)
    return actions


def test_a_result_is_an_object_that_its_policy_owns() -> None:
    running = running_totals_of(ALL, GOOD, WORST)
    violations = tuple(violation_of(*each) for each in running.findings(100))
    (action,) = plan_audit(policy_of(ALL), Record("production", running.totals(), violations), now=MOMENT)
    assert isinstance(action, CreateResult)
    body = action.body
    assert body["metadata"]["name"] == f"strict-{int(MOMENT.timestamp() * 1000)}"
    assert body["metadata"]["ownerReferences"][0]["uid"] == "u-1"
    assert body["spec"].keys() == {
        "policyName",
        "timestamp",
        "healthScore",
        "totalViolations",
        "totalPods",
        "classification",
        "violations",
    }
    assert body["spec"]["violations"][0] == {
        "podName": "1",
        "containerName": "main",
        "violationType": "latest_tag",
        "severity": "high",
        "message": "container 'main' uses :latest tag",
    }
    assert Validator(schema_of(POLICY_AUDIT_RESULT.schema())).check(body) == []


def test_an_empty_list_of_violations_is_left_out() -> None:
    assert "violations" not in msgspec.to_builtins(result())


def test_what_the_newest_result_says_is_not_recorded_again() -> None:
    assert planned(PolicySpec(), 90, kept(result(age_s=900))) == ()


def test_an_older_result_that_says_the_same_is_no_repeat() -> None:
    (action,) = planned(PolicySpec(), 90, kept(result(90, age_s=900)), kept(result(80, age_s=300), "strict-2"))
    assert isinstance(action, CreateResult)


@pytest.mark.parametrize(("age_s", "count"), [(10, 0), (29, 0), (30, 1), (-500, 1)])
def test_results_come_no_faster_than_the_interval(age_s: float, count: int) -> None:
    assert len(planned(PolicySpec(), 90, kept(result(80, age_s=age_s)))) == count


def test_the_oldest_go_when_there_are_too_many() -> None:
    held = [kept(result(at, age_s=1000 - at), f"strict-{at}") for at in range(12)]
    actions = planned(PolicySpec(), 50, *reversed(held))
    assert isinstance(actions[0], CreateResult)
    assert actions[1:] == tuple(DeleteResult("production", f"strict-{at}", f"uid-strict-{at}") for at in range(3))


def test_retention_can_be_set_to_nothing() -> None:
    spec = PolicySpec(audit_results=AuditResults(retention=0))
    assert planned(spec, 90, kept(result(80, age_s=99))) == (DeleteResult("production", "strict-1", "uid-strict-1"),)


def test_results_of_other_policies_are_let_alone() -> None:
    other = kept(msgspec.structs.replace(result(80, age_s=9), policy_name="lax"))
    spec = PolicySpec(audit_results=AuditResults(retention=1))
    assert [type(each) for each in planned(spec, 90, other)] == [CreateResult]


def test_the_list_is_capped_and_the_numbers_count_all() -> None:
    spec = PolicySpec(audit_results=AuditResults(max_violations=2))
    running = running_totals_of(ALL, WORST)
    violations = tuple(violation_of(*each) for each in running.findings(100))
    (action,) = plan_audit(policy_of(spec), Record("production", running.totals(), violations), now=MOMENT)
    assert isinstance(action, CreateResult)
    audit = action.body["spec"]
    assert (len(audit["violations"]), audit["totalViolations"]) == (2, 5)
    assert (audit["timestamp"], audit["classification"]) == (format_time(MOMENT), "Degraded")


def test_a_result_with_a_broken_time_is_the_oldest() -> None:
    broken = kept(msgspec.structs.replace(result(80), timestamp="once"), "strict-0")
    spec = PolicySpec(audit_results=AuditResults(retention=1))
    actions = planned(spec, 90, broken, kept(result(90, age_s=900)))
    assert actions == (DeleteResult("production", "strict-0", "uid-strict-0"),)


@pytest.mark.parametrize("name", ["p" * 253, f"{'p' * 229}.{'q' * 20}", f"{'p' * 228}-.{'q' * 20}"])
def test_a_long_policy_name_still_makes_a_name(name: str) -> None:
    own = policy_of(PolicySpec(), Metadata(name=name, namespace="production"))
    for policy in (own, ClusterDevOpsPolicy(metadata=Metadata(name=name))):
        (action,) = plan_audit(policy, record(), now=MOMENT)
        assert isinstance(action, CreateResult)
        assert len(action.body["metadata"]["name"]) <= 253
        assert ".-" not in action.body["metadata"]["name"]


def test_a_violation_is_truncated() -> None:
    check = HOST_PATH.for_policy(PolicySpec())
    assert len(violation_of("web", Finding(check, "", "/" * 100_000)).message) == 1024


def test_a_policy_of_the_cluster_records_in_the_namespace_it_is_about() -> None:
    (action,) = plan_audit(WIDE, record(), now=MOMENT)
    assert isinstance(action, CreateResult)
    metadata = action.body["metadata"]
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["uid"], metadata["namespace"]) == ("ClusterDevOpsPolicy", "u-2", "production")
    assert metadata["name"] == f"strict-cluster-{int(NOW * 1000)}"


def test_policies_of_one_name_distinguish_their_results() -> None:
    own, wide = kept(result()), kept(result(), "strict-cluster-1", "ClusterDevOpsPolicy")
    assert results_of(policy_of(PolicySpec()), (own, wide)) == (own,)
    assert results_of(WIDE, (own, wide)) == (wide,)


def test_a_namespace_that_never_had_pods_needs_no_record_of_the_cluster() -> None:
    empty = Record("production", Totals())
    assert plan_audit(WIDE, empty, now=MOMENT) == ()
    assert due_at(WIDE, empty, now=MOMENT) == inf
    emptied = Record("production", Totals(), kept=(kept(result(80, age_s=99), "a", "ClusterDevOpsPolicy"),))
    assert [type(each) for each in plan_audit(WIDE, emptied, now=MOMENT)] == [CreateResult]


@pytest.mark.parametrize(
    ("held", "at"),
    [((), 0.0), ((kept(result(90, age_s=5)),), inf), ((kept(result(80, age_s=5)),), NOW + 25)],
    ids=["nothing kept", "all is said", "too soon"],
)
def test_a_record_says_when_there_is_something_to_do(held: tuple[PolicyAuditResult, ...], at: float) -> None:
    assert due_at(policy_of(PolicySpec()), record(90, *held), now=MOMENT) == at
