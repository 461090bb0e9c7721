"""Decisions about a policy: its status, its Events, and what is to be done."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.conditions import find
from homeostat.objects.decision import Stalled
from homeostat.objects.declared import Metadata
from homeostat.objects.json import JsonObject, encode
from homeostat.objects.schema.openapi import schema_of
from homeostat.objects.schema.validate import Validator
from homeostat.objects.views.pod import Pod
from homeostat.operators.policy.api import (
    CLUSTER_DEVOPS_POLICY,
    DEVOPS_POLICY,
    ClusterDevOpsPolicy,
    DevOpsPolicy,
)
from homeostat.operators.policy.audit_result import CreateResult, Record, violation_of
from homeostat.operators.policy.decide import ForgetSeries, decide
from homeostat.operators.policy.enforcement.plan import Patch
from homeostat.operators.policy.engine.evaluator import compile_policy
from homeostat.operators.policy.engine.totals import Totals
from homeostat.operators.policy.spec import (
    ClusterPolicySpec,
    DefaultProbe,
    DefaultResources,
    Enforcement,
    PolicySpec,
    Rule,
)
from homeostat.operators.policy.world import World
from homeostat.testing.status import check_status
from tests.examples import examples
from tests.operators.policy.simulation import Simulation, settled
from tests.operators.policy.worlds import (
    ALL,
    GOOD,
    MOMENT,
    WORST,
    container,
    evaluator_of,
    plans_of,
    pod_json,
    running_totals_of,
    to_pod,
)

ENFORCED = msgspec.structs.replace(ALL, enforcement_mode="enforce", default_resources=DefaultResources())
BARE = container("web:latest", liveness=False, readiness=False)


def policy_of(spec: PolicySpec = ALL, status: JsonObject | None = None, **metadata: Any) -> DevOpsPolicy:
    given = Metadata(name="strict", namespace="production", uid="u", generation=1, **metadata)
    return DevOpsPolicy(metadata=given, spec=spec, status=msgspec.Raw(encode(status) if status else b""))


def world_of(spec: PolicySpec, *pods: Pod, **fields: Any) -> World:
    running = running_totals_of(spec, *pods)
    violations = tuple(violation_of(*each) for each in running.findings(100))
    return World(
        now=MOMENT,
        evaluator=evaluator_of(spec),
        totals=running.totals(),
        next_due=running.next_due(),
        plans=plans_of(pods, evaluator_of(spec)),
        records=(Record("production", running.totals(), violations),),
        **fields,
    )


def owned(body: JsonObject, at: int = 0) -> Pod:
    return to_pod(pod_json(body, name=f"web-{at}", owner=("ReplicaSet", "web-5d4f")))


def deployment(*containers: JsonObject, annotations: dict[str, str] | None = None) -> JsonObject:
    return {
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "production",
            "resourceVersion": "7",
            "annotations": annotations or {},
        },
        "spec": {"template": {"spec": {"containers": list(containers)}}},
    }


def test_a_status_says_what_was_seen() -> None:
    plane = settled(policy_of(), world_of(ALL, WORST))
    assert {key: value for key, value in plane.status.items() if key != "conditions"} == {
        "observedGeneration": 1,
        "enforcementMode": "audit",
        "healthy": False,
        "healthScore": 56,
        "violations": 5,
        "lastEvaluated": "2026-11-16T12:00:00Z",
        "message": "5 violations across 1 pods — Degraded (56)",
        "classification": "Degraded",
        "pods": 1,
    }


def test_a_namespace_without_pods_is_healthy() -> None:
    status = settled(policy_of(), world_of(ALL)).status
    assert (status["healthy"], status["healthScore"], status["violations"]) == (True, 100, 0)


def test_conditions_report_health_and_readiness() -> None:
    decision = decide(policy_of(), world_of(ALL, WORST))
    healthy = find(decision.conditions, "Healthy")
    assert healthy is not None
    assert (healthy.status, healthy.reason) == ("False", "Degraded")
    conditions = settled(policy_of(), world_of(ALL, WORST)).status["conditions"]
    assert {each["type"]: each["status"] for each in conditions} == {"Healthy": "False", "Ready": "True"}


def test_the_status_fits_its_definition_after_every_reconciliation() -> None:
    plane = Simulation(policy_of(ENFORCED), world_of(ENFORCED, owned(BARE)), deployment(BARE))
    for _ in range(4):
        plane.look()
        body = {"metadata": {"name": "strict", "generation": 1}, "spec": {}, "status": plane.status}
        assert Validator(schema_of(DEVOPS_POLICY.schema())).check(body) == []
        check_status(body)


def test_a_status_that_says_the_same_is_not_written_again() -> None:
    plane = settled(policy_of(), world_of(ALL, WORST))
    before = plane.status
    plane.world = msgspec.structs.replace(plane.world, now=MOMENT + timedelta(seconds=299))
    assert plane.look().is_settled
    assert plane.status == before


def test_a_slow_heartbeat_shows_that_the_policy_is_evaluated() -> None:
    plane = settled(policy_of(), world_of(ALL, WORST))
    plane.world = msgspec.structs.replace(plane.world, now=MOMENT + timedelta(seconds=300))
    plane.look()
    assert plane.status["lastEvaluated"] == "2026-11-16T12:05:00Z"


def test_a_policy_that_is_invalid_is_stalled() -> None:
    spec = PolicySpec(rules=(Rule(name="own", expression="1 +"),))
    world = World(now=MOMENT, evaluator=compile_policy(spec))
    with pytest.raises(Stalled, match=r"spec.rules\[0\].expression: does not compile") as caught:
        decide(policy_of(spec), world)
    assert caught.value.reason == "InvalidRule"


def test_deletion_drops_the_series_whatever_else_is_wrong() -> None:
    policy = policy_of(deletion_timestamp="2026-11-16T12:00:00Z", finalizers=("devops.stochastic.io/cleanup",))
    bad = compile_policy(PolicySpec(rules=(Rule(name="own", expression="1 +"),)))
    assert decide(policy, World(now=MOMENT, evaluator=bad, has_series=True)).actions == (ForgetSeries(),)
    assert decide(policy, World(now=MOMENT, evaluator=bad)).is_settled


WAITS = [
    pytest.param({}, 30.0, id="the interval"),
    pytest.param({"next_due": MOMENT.timestamp() + 4}, 4.0, id="a pod that waits"),
    pytest.param({"next_due": MOMENT.timestamp() + 400}, 30.0, id="a pod that waits long"),
    pytest.param({"next_due": MOMENT.timestamp() - 9}, 0.1, id="a pod that is overdue"),
    pytest.param({"failures": {"deployment/a/b": MOMENT.timestamp() + 7}}, 7.0, id="a failed patch"),
    pytest.param({"failures": {"deployment/a/b": MOMENT.timestamp() - 7}}, 30.0, id="a patch that failed long ago"),
]


@pytest.mark.parametrize(("fields", "seconds"), WAITS)
def test_the_next_reconciliation_is_when_something_can_change(fields: JsonObject, seconds: float) -> None:
    world = msgspec.structs.replace(world_of(ALL, GOOD), **fields)
    assert decide(policy_of(), world).requeue_after == timedelta(seconds=seconds)


def test_the_interval_can_be_set() -> None:
    spec = msgspec.structs.replace(ALL, interval_seconds=600)
    assert decide(policy_of(spec), world_of(spec)).requeue_after == timedelta(seconds=600)


CHANGES = [
    pytest.param("Healthy", 90, ("Warning", "Classification changed from Healthy (90) to Degraded"), id="worse"),
    pytest.param("Critical", 10, ("Normal", "Classification changed from Critical (10) to Degraded"), id="better"),
    pytest.param("Degraded", 55, None, id="the same"),
    pytest.param(None, None, None, id="the first time"),
]


@pytest.mark.parametrize(("before", "score", "told"), CHANGES)
def test_a_change_of_class_is_reported(before: str | None, score: int | None, told: tuple[str, str] | None) -> None:
    status = {"classification": before, "healthScore": score} if before else None
    notices = decide(policy_of(status=status), world_of(ALL, WORST)).notices
    assert [(each.type, each.message.split(":")[0]) for each in notices] == ([told] if told else [])


def test_enforcement_patches_once_and_then_says_so() -> None:
    pods = [owned(BARE, at) for at in range(3)]
    plane = Simulation(policy_of(ENFORCED), world_of(ENFORCED, *pods), deployment(BARE))
    first = plane.look()
    assert [type(each) for each in first.actions] == [Patch, CreateResult]
    ready = find(first.conditions, "Ready")
    assert ready is not None
    assert (ready.status, ready.reason) == ("False", "Remediating")
    assert plane.look().is_settled
    status = plane.status
    assert (status["remediationsApplied"], status["remediationsFailed"]) == (1, 0)
    assert status["remediatedWorkloads"] == ["deployment/production/web"]
    assert "plannedRemediations" not in status


def test_a_patch_says_what_it_would_inject() -> None:
    spec = msgspec.structs.replace(ENFORCED, default_probe=DefaultProbe(tcp_port=80))
    plane = Simulation(policy_of(spec), world_of(spec, owned(BARE, 0)), deployment(BARE))
    patch = plane.look().actions[0]
    probe = '{"tcpSocket":{"port":80},"initialDelaySeconds":5,"periodSeconds":10}'
    assert str(patch).startswith(
        f"patch deployment/production/web: main.livenessProbe = {probe}, main.readinessProbe = {probe}, main.res"
    )


def test_many_workloads_are_patched_in_batches() -> None:
    names = [f"web-{at:03}" for at in range(70)]
    pods = [to_pod(pod_json(BARE, name=name, owner=("Deployment", name))) for name in names]
    bodies = [{**deployment(BARE), "metadata": {"name": name, "namespace": "production"}} for name in names]
    plane = Simulation(policy_of(ENFORCED), world_of(ENFORCED, *pods), *bodies)
    turns = [sum(isinstance(each, Patch) for each in plane.look().actions) for _ in range(3)]
    assert turns == [50, 20, 0]


DRY = msgspec.structs.replace(
    ENFORCED, enforcement=Enforcement(dry_run=True), default_probe=DefaultProbe(tcp_port=3000, period_seconds=30)
)
TEMPLATE = "deployment/production/web: spec.template.spec.containers[main]"
PROBE = '{"tcpSocket":{"port":3000},"initialDelaySeconds":5,"periodSeconds":30}'
AMOUNTS = '{"requests":{"cpu":"100m","memory":"128Mi"},"limits":{"cpu":"500m","memory":"256Mi"}}'
PLANNED = [
    f"{TEMPLATE}.livenessProbe = {PROBE}",
    f"{TEMPLATE}.readinessProbe = {PROBE}",
    f"{TEMPLATE}.resources = {AMOUNTS}",
]


def test_a_dry_run_reports_what_it_would_do() -> None:
    plane = settled(policy_of(DRY), world_of(DRY, owned(BARE)), deployment(BARE))
    assert plane.status["plannedRemediations"] == ["deployment/production/web"]
    assert plane.status["plannedChanges"] == PLANNED
    assert plane.status["remediationsApplied"] == 0
    assert plane.workloads["deployment/production/web"] == deployment(BARE)


def test_a_dry_run_reports_each_change_in_one_event() -> None:
    plane = Simulation(policy_of(DRY), world_of(DRY, owned(BARE)), deployment(BARE))
    told = [(each.reason, each.message) for each in plane.look().notices]
    assert told == [("DryRun", f"Would inject: {'; '.join(PLANNED)}")]
    assert plane.look().notices == ()


def test_what_a_dry_run_reports_is_bounded() -> None:
    names = [f"web-{at:03}" for at in range(70)]
    pods = [to_pod(pod_json(BARE, name=name, owner=("Deployment", name))) for name in names]
    bodies = [{**deployment(BARE), "metadata": {"name": name, "namespace": "production"}} for name in names]
    spec = msgspec.structs.replace(DRY, default_resources=DefaultResources(memory_limit=f"{'9' * 500}Gi"))
    plane = Simulation(policy_of(spec), world_of(spec, *pods), *bodies)
    (notice,) = plane.look().notices
    assert notice.message.endswith("; status.plannedChanges has more")
    changes = plane.status["plannedChanges"]
    assert (len(changes), max(map(len, changes))) == (100, 512)
    assert len(plane.status["plannedRemediations"]) == 70


def test_what_is_no_dry_run_plans_no_changes() -> None:
    spec = msgspec.structs.replace(DRY, enforcement=None)
    plane = Simulation(policy_of(spec), world_of(spec, owned(BARE)), deployment(BARE))
    assert plane.look().notices == ()
    assert "plannedChanges" not in plane.status


def test_a_refused_patch_is_counted_and_tried_later() -> None:
    failures = {"deployment/production/web": MOMENT.timestamp() + 20}
    world = world_of(ENFORCED, owned(BARE), failures=failures)
    plane = settled(policy_of(ENFORCED), world, deployment(BARE))
    assert plane.status["remediationsFailed"] == 1
    later = msgspec.structs.replace(plane.world, now=MOMENT + timedelta(seconds=20))
    assert any(isinstance(each, Patch) for each in decide(plane.policy, later).actions)


def test_audit_mode_never_touches_a_workload() -> None:
    spec = msgspec.structs.replace(ENFORCED, enforcement_mode="audit")
    forced = msgspec.structs.replace(world_of(ENFORCED, owned(BARE)), evaluator=evaluator_of(spec))
    plane = settled(policy_of(spec), forced, deployment(BARE))
    assert plane.workloads["deployment/production/web"] == deployment(BARE)
    assert not {"remediationsApplied", "remediationsFailed", "plannedRemediations"} & plane.status.keys()


def test_leaving_enforce_mode_removes_its_numbers() -> None:
    policy = policy_of(ALL, status={"remediationsApplied": 3, "remediatedWorkloads": ["a"]})
    assert "remediationsApplied" not in settled(policy, world_of(ALL)).status


def test_a_policy_of_the_cluster_reports_its_worst_namespaces() -> None:
    namespaces = {f"ns-{at}": Totals(pods=1, violations=1, points=at) for at in range(90)}
    namespaces["quiet"] = Totals()
    spec = ClusterPolicySpec(forbid_latest_tag=True)
    policy = ClusterDevOpsPolicy(metadata=Metadata(name="all", generation=1), spec=spec)
    world = World(now=MOMENT, evaluator=evaluator_of(spec), namespaces=namespaces, totals=Totals(pods=90, points=900))
    decision = decide(policy, world)
    assert decision.is_settled
    worst = decision.status["namespaces"]
    assert (len(worst), worst[0]) == (50, {"name": "ns-89", "healthScore": 11, "pods": 1, "violations": 1})
    body = {"metadata": {"name": "all"}, "spec": {}, "status": {**decision.status, "exempted": 0}}
    body["status"] = {key: value for key, value in body["status"].items() if value is not None}
    assert Validator(schema_of(CLUSTER_DEVOPS_POLICY.schema())).check(body) == []


def test_a_status_that_somebody_broke_is_repaired() -> None:
    status = {"lastEvaluated": "once", "healthScore": "?", "classification": 7}
    assert settled(policy_of(status=status), world_of(ALL, GOOD)).status["healthScore"] == 100


containers = st.builds(
    container,
    st.sampled_from(["a:1", "a:latest", "a"]),
    name=st.sampled_from(["main", "side"]),
    liveness=st.booleans(),
    readiness=st.booleans(),
)
specs = st.builds(
    msgspec.structs.replace,
    st.sampled_from([ALL, ENFORCED, PolicySpec(), PolicySpec(require_liveness_probe=True, enforcement_mode="enforce")]),
    scoring=st.sampled_from(["plain", "severity", None]),
)


@given(specs, st.lists(containers, max_size=4), st.lists(containers, max_size=2, unique_by=lambda each: each["name"]))
@examples(100)
def test_acting_reaches_a_fixed_point(spec: PolicySpec, pods: list[JsonObject], template: list[JsonObject]) -> None:
    world = world_of(spec, *(owned(body, at) for at, body in enumerate(pods)))
    assert decide(policy_of(spec), world) == decide(policy_of(spec), world)
    plane = settled(policy_of(spec), world, deployment(*template))
    assert plane.look().is_settled
