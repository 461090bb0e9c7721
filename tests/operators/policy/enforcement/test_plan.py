"""Enforcement: which workloads are put right, how, and which are left alone."""

from datetime import timedelta
from math import inf
from typing import Any

import msgspec
import pytest

from homeostat.objects.json import JsonObject
from homeostat.objects.patch.strategic import strategic_merge_patch
from homeostat.objects.views.pod import Container, Pod, Port
from homeostat.objects.views.workload import Workload, deployment_name, owner_of
from homeostat.objects.wire.builtin_schema import builtin_schema
from homeostat.operators.policy.api import INJECTED, OPT_OUT, PATCHED_AT, PATCHED_BY
from homeostat.operators.policy.enforcement.patch import is_patched, probe_for, resources_for, revert_of
from homeostat.operators.policy.enforcement.plan import CoolingDown, Due, Patch, Plan, Skipped, plan_of, step_of
from homeostat.operators.policy.spec import (
    DefaultProbe,
    DefaultResources,
    Enforcement,
    Exemption,
    Mode,
    PolicySpec,
    Selector,
)
from tests.operators.policy.worlds import ALL, MOMENT, NOW, container, evaluator_of, plans_of, pod_json, to_pod

CAREFUL = msgspec.structs.replace(ALL, enforcement_mode="enforce")
ENFORCED = msgspec.structs.replace(CAREFUL, default_probe=DefaultProbe(fallback_port=8080))
WITH_RESOURCES = msgspec.structs.replace(ENFORCED, default_resources=DefaultResources())
REPLICA_SET = ("ReplicaSet", "web-app-5d4f8b9c7f")
BARE = container("nginx:1", liveness=False, readiness=False)
DEPLOYMENT = builtin_schema("apps", "v1", "Deployment")


def owned(*containers: JsonObject, owner: tuple[str, str] | None = REPLICA_SET, **more: Any) -> Pod:
    return to_pod(pod_json(*(containers or (BARE,)), owner=owner, **more))


def planned(spec: PolicySpec, *pods: Pod) -> list[tuple[str, dict[str, list[str]]]]:
    plans = plans_of(pods, evaluator_of(spec))
    return [(str(each.owner), {one.container: sorted(one.parts) for one in each.injections}) for each in plans]


PROBES = ["livenessProbe", "readinessProbe"]
KEY = "deployment/production/web-app"


def test_a_pod_without_probes_plans_its_deployment() -> None:
    assert planned(ENFORCED, owned()) == [(KEY, {"main": PROBES})]


def test_resources_are_planned_where_the_policy_has_some() -> None:
    assert planned(WITH_RESOURCES, owned()) == [(KEY, {"main": [*PROBES, "resources"]})]
    some = {**BARE, "resources": {"limits": {"cpu": 1}}}
    assert planned(WITH_RESOURCES, owned(some)) == [(KEY, {"main": PROBES})]


def test_two_pods_of_a_deployment_are_one_plan() -> None:
    half = container("nginx:1", liveness=False)
    assert planned(ENFORCED, owned(half, name="a"), owned(BARE, name="b")) == [(KEY, {"main": PROBES})]


NO_PLAN = [
    pytest.param(ALL, owned(), id="no mode"),
    pytest.param(msgspec.structs.replace(ALL, enforcement_mode="audit"), owned(), id="audit"),
    pytest.param(ENFORCED, owned(owner=None), id="no owner"),
    pytest.param(ENFORCED, owned(owner=("Job", "report")), id="a job"),
    pytest.param(ENFORCED, owned(container("nginx:latest")), id="only the tag"),
    pytest.param(ENFORCED, owned(container(), restarts=9, phase="Pending"), id="only what runs"),
    pytest.param(PolicySpec(enforcement_mode="enforce"), owned(), id="nothing asked"),
    *(
        pytest.param(ENFORCED, owned(namespace=each), id=each)
        for each in ("kube-system", "longhorn-system", "cert-manager", "istio-system", "monitoring", "argocd")
    ),
]


@pytest.mark.parametrize(("spec", "pod"), NO_PLAN)
def test_nothing_is_planned_without_leave(spec: PolicySpec, pod: Pod) -> None:
    assert plan_of(pod, evaluator_of(spec), now=NOW).plan is None


def test_what_is_exempted_is_not_repaired() -> None:
    spec = msgspec.structs.replace(ENFORCED, exemptions=(Exemption(reason="r", checks=("missing_liveness",)),))
    assert planned(spec, owned()) == [(KEY, {"main": ["readinessProbe"]})]
    spec = msgspec.structs.replace(ENFORCED, selector=Selector(match_labels={"app": "db"}))
    assert planned(spec, owned(labels={"app": "web"})) == []


@pytest.mark.parametrize(
    ("replica_set", "name"),
    [
        ("web-app-5d4f8b9c7f", "web-app"),
        ("my-cool-app-abc123", "my-cool-app"),
        ("webapp", "webapp"),
        ("app-hash", "app"),
    ],
)
def test_a_deployment_is_called_like_its_replica_set(replica_set: str, name: str) -> None:
    assert deployment_name(replica_set) == name


def test_a_known_replica_set_names_its_deployment() -> None:
    pod = owned(owner=("ReplicaSet", "odd"))
    assert str(owner_of(pod, {"odd": "even"})) == "deployment/production/even"
    assert owner_of(pod, {"odd": ""}) is None


def test_an_exemption_that_expires_says_when_to_plan_again() -> None:
    exemption = Exemption(reason="r", checks=("missing_resources",), expires="2026-11-16T12:00:10Z")
    spec = msgspec.structs.replace(WITH_RESOURCES, exemptions=(exemption,))
    plan, until = plan_of(owned(), evaluator_of(spec), now=NOW)
    assert plan is not None
    assert {part for each in plan.injections for part in each.parts} == set(PROBES)
    assert until == NOW + 10
    assert plan_of(owned(), evaluator_of(ENFORCED), now=NOW).until == inf


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet", "Deployment"])
def test_other_workloads_own_their_pods_themselves(kind: str) -> None:
    assert str(owner_of(owned(owner=(kind, "db-main")))) == f"{kind.lower()}/production/db-main"


PORTS = [
    pytest.param(DefaultProbe(tcp_port=3000), (Port(9090),), 3000, id="the policy's"),
    pytest.param(DefaultProbe(fallback_port=8080), (Port(9090), Port(1)), 9090, id="the container's first"),
    pytest.param(None, (Port(53, "UDP"), Port(9153, "TCP")), 9153, id="the container's first for TCP"),
    pytest.param(DefaultProbe(fallback_port=8080), None, 8080, id="the last resort"),
]


@pytest.mark.parametrize(("given", "ports", "port"), PORTS)
def test_a_probe_has_a_port(given: DefaultProbe | None, ports: tuple[Port, ...] | None, port: int) -> None:
    assert probe_for(Container(ports=ports), given) == {
        "tcpSocket": {"port": port},
        "initialDelaySeconds": 5,
        "periodSeconds": 10,
    }


def test_probes_and_resources_can_be_set() -> None:
    probe = probe_for(Container(), DefaultProbe(tcp_port=80, initial_delay_seconds=0, period_seconds=30))
    assert (probe["initialDelaySeconds"], probe["periodSeconds"]) == (0, 30)
    assert resources_for(DefaultResources(cpu_limit="2")) == {
        "requests": {"cpu": "100m", "memory": "128Mi"},
        "limits": {"cpu": "2", "memory": "256Mi"},
    }


def deployment(*containers: JsonObject, annotations: dict[str, str] | None = None) -> JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web-app",
            "namespace": "production",
            "resourceVersion": "7",
            "annotations": annotations or {},
        },
        "spec": {"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": list(containers)}}},
    }


def plan_for(*containers: JsonObject, spec: PolicySpec = WITH_RESOURCES) -> Plan:
    (plan,) = plans_of([owned(*containers)], evaluator_of(spec))
    return plan


def read(body: JsonObject) -> Workload:
    return msgspec.convert(body, Workload)


def patch_for(body: JsonObject, plan: Plan, spec: PolicySpec = WITH_RESOURCES) -> Patch:
    step = step_of(plan, read(body), spec, now=MOMENT)
    assert isinstance(step, Due)
    return step.patch(spec, now=MOMENT)


def test_the_patch_names_the_container_and_the_operator() -> None:
    patch = patch_for(deployment(BARE), plan_for(BARE))
    template = patch.body["spec"]["template"]
    (patched,) = template["spec"]["containers"]
    assert template["metadata"]["annotations"] == {PATCHED_BY: "kube-devops-operator"}
    assert patched["name"] == "main"
    assert patched.keys() == {"name", "livenessProbe", "readinessProbe", "resources"}
    assert (str(patch.owner), patch.resource_version) == (KEY, "7")


def test_a_patched_workload_needs_no_second_patch_and_can_be_reverted() -> None:
    body = deployment(BARE, container(name="other"))
    plan = plan_for(BARE)
    patched = strategic_merge_patch(body, patch_for(body, plan).body, DEPLOYMENT)
    assert is_patched(read(patched))
    assert step_of(plan, read(patched), WITH_RESOURCES, now=MOMENT) == Skipped(plan.owner, "NothingToDo")
    revert = revert_of(read(patched))
    assert revert is not None
    restored = strategic_merge_patch(patched, revert, DEPLOYMENT)
    assert restored["spec"]["template"]["spec"] == body["spec"]["template"]["spec"]
    assert not is_patched(read(restored))
    assert revert_of(read(restored)) is None


@pytest.mark.parametrize("ports", [None, [], [{"containerPort": 53, "protocol": "UDP"}]], ids=["no", "none", "UDP"])
def test_no_port_is_guessed_and_the_container_is_named(ports: list[JsonObject] | None) -> None:
    bare = {**BARE, "ports": ports}
    plan = plan_for(bare, spec=CAREFUL)
    assert step_of(plan, read(deployment(bare)), CAREFUL, now=MOMENT) == Skipped(plan.owner, "NoPort", ("main",))


def test_a_container_without_port_keeps_nothing_else_from_being_patched() -> None:
    other = {**BARE, "name": "other", "ports": [{"containerPort": 9090}]}
    spec = msgspec.structs.replace(CAREFUL, default_resources=DefaultResources())
    body, plan = deployment(BARE, other), plan_for(BARE, other, spec=spec)
    patch = patch_for(body, plan, spec)
    given = {each["name"]: each.keys() - {"name"} for each in patch.body["spec"]["template"]["spec"]["containers"]}
    assert given == {"main": {"resources"}, "other": {*PROBES, "resources"}}
    assert step_of(plan, read(body), spec, now=MOMENT).without_port == ("main",)


def test_containers_are_matched_by_name_and_not_by_index() -> None:
    injected = container("mesh:1", name="mesh", liveness=False, readiness=False)
    patch = patch_for(deployment(BARE), plan_for(injected, BARE, spec=ENFORCED), ENFORCED)
    assert [each["name"] for each in patch.body["spec"]["template"]["spec"]["containers"]] == ["main"]


def test_only_what_the_template_lacks_is_patched() -> None:
    body = deployment(container("nginx:2", readiness=False))
    patch = patch_for(body, plan_for(BARE, spec=ENFORCED), ENFORCED)
    assert patch.body["spec"]["template"]["spec"]["containers"][0].keys() == {"name", "readinessProbe"}


LEFT = [
    pytest.param(None, "Gone", id="gone"),
    pytest.param(deployment(BARE, annotations={OPT_OUT: "disabled"}), "OptedOut", id="opted out"),
    pytest.param(deployment(container()), "NothingToDo", id="put right meanwhile"),
    pytest.param(deployment(), "NothingToDo", id="no containers"),
    pytest.param({"kind": "Deployment"}, "NothingToDo", id="no spec"),
]


@pytest.mark.parametrize(("body", "reason"), LEFT)
def test_a_workload_may_stay_as_it_is(body: JsonObject | None, reason: str) -> None:
    step = step_of(plan_for(BARE, spec=ENFORCED), None if body is None else read(body), ENFORCED, now=MOMENT)
    assert isinstance(step, Skipped)
    assert step.reason == reason


def test_a_workload_whose_patch_was_undone_is_not_patched_at_once() -> None:
    body = deployment(BARE, annotations={PATCHED_AT: "2026-11-16T11:58:00Z", INJECTED: "broken {"})
    plan = plan_for(BARE)
    assert step_of(plan, read(body), WITH_RESOURCES, now=MOMENT) == CoolingDown(plan.owner, MOMENT.timestamp() + 180)
    assert isinstance(step_of(plan, read(body), WITH_RESOURCES, now=MOMENT + timedelta(seconds=180)), Due)
    hasty = msgspec.structs.replace(WITH_RESOURCES, enforcement=Enforcement(cooldown_seconds=60))
    assert isinstance(step_of(plan, read(body), hasty, now=MOMENT), Due)


@pytest.mark.parametrize("mode", ["audit", None])
def test_only_enforce_enforces(mode: Mode | None) -> None:
    assert not msgspec.structs.replace(ALL, enforcement_mode=mode).is_enforced
