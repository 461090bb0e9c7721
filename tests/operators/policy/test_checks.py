"""Each check: what it finds, what it lets pass, and in which words."""

from typing import Any

import msgspec
import pytest

from homeostat.objects import yaml
from homeostat.objects.json import JsonObject
from homeostat.objects.views.image import parse_image
from homeostat.objects.views.workload import DisruptionBudget, Workload
from homeostat.operators.policy.engine.check import (
    CHECKS,
    FEW_REPLICAS,
    HOST_PATH,
    LATEST_TAG,
    MISSING_BUDGET,
    MISSING_LIVENESS,
    MISSING_READINESS,
    MISSING_RESOURCES,
    PRIVILEGED,
    RUN_AS_ROOT,
    UNPINNED_IMAGE,
    Check,
)
from homeostat.operators.policy.spec import ORIGINAL_CHECKS, PolicySpec, SeverityOverrides, Weights
from tests.operators.policy.worlds import ALL, NOW, WORST, container, evaluator_of, pod_json, to_pod, totals_of


def found(spec: PolicySpec, body: JsonObject, now: float = NOW) -> list[str]:
    return [each.message for each in evaluator_of(spec).evaluate(to_pod(body), now=now, body=body).findings]


def with_container(**fields: Any) -> JsonObject:
    return pod_json({**container(), **fields})


def with_spec(**fields: Any) -> JsonObject:
    body = pod_json()
    body["spec"] |= fields
    return body


def with_state(**fields: Any) -> JsonObject:
    body = pod_json()
    body["status"]["containerStatuses"] = [{"name": "main", **fields}]
    return body


PENDING = PolicySpec(forbid_pending_duration=300)
DIGEST = "nginx@sha256:" + "a" * 64
NON_ROOT = PolicySpec(require_run_as_non_root=True)
RESOURCES = PolicySpec(require_resources=("cpuRequest", "memoryRequest", "memoryLimit"))
REGISTRIES = PolicySpec(allowed_registries=("ghcr.io/acme", "docker.io/library/"))
CASES = [
    pytest.param(
        PolicySpec(forbid_latest_tag=True),
        with_container(image="a:latest"),
        ["container 'main' uses :latest tag"],
        id="latest",
    ),
    pytest.param(PolicySpec(forbid_latest_tag=True), with_container(image="a"), [], id="untagged is not latest"),
    pytest.param(PolicySpec(forbid_latest_tag=True), with_container(image=DIGEST), [], id="digest is not latest"),
    pytest.param(PolicySpec(forbid_latest_tag=True), with_container(image=None), [], id="no image is not latest"),
    pytest.param(
        PolicySpec(forbid_latest_tag=True, untagged_is_latest=True),
        with_container(image="r:5000/a"),
        ["container 'main' uses :latest tag"],
        id="untagged is latest where told",
    ),
    pytest.param(
        PolicySpec(forbid_latest_tag=True, untagged_is_latest=True),
        with_container(image=DIGEST),
        [],
        id="digest is never latest",
    ),
    pytest.param(PolicySpec(untagged_is_latest=True), with_container(image="a"), [], id="untagged alone asks nothing"),
    pytest.param(
        PolicySpec(require_liveness_probe=True),
        with_container(livenessProbe=None),
        ["container 'main' missing liveness probe"],
        id="liveness",
    ),
    pytest.param(
        PolicySpec(require_readiness_probe=True),
        with_container(readinessProbe=None),
        ["container 'main' missing readiness probe"],
        id="readiness",
    ),
    pytest.param(
        PolicySpec(max_restart_count=3),
        pod_json(restarts=7),
        ["container 'main' has 7 restarts (threshold: 3)"],
        id="restarts",
    ),
    pytest.param(PENDING, pod_json(phase="Pending"), ["pod is in Pending phase"], id="pending long"),
    pytest.param(PENDING, pod_json(phase="Pending", created="2026-11-16T11:59:50Z"), [], id="pending ten seconds"),
    pytest.param(
        PENDING,
        pod_json(phase="Pending", created="2026-11-16T11:55:00Z"),
        ["pod is in Pending phase"],
        id="pending as long as allowed",
    ),
    pytest.param(PENDING, pod_json(phase="Pending", created="once"), [], id="pending of no known age"),
    pytest.param(
        PolicySpec(forbid_pending_duration=300, pending_ignores_age=True),
        pod_json(phase="Pending", created="2026-11-16T11:59:50Z"),
        ["pod is in Pending phase"],
        id="any pending where told",
    ),
    pytest.param(
        RESOURCES,
        with_container(),
        ["container 'main' sets no CPU request, memory request, memory limit"],
        id="no resources",
    ),
    pytest.param(
        RESOURCES,
        with_container(resources={"requests": {"cpu": 1}, "limits": {"memory": "1Gi"}}),
        [],
        id="a limit is a request too",
    ),
    pytest.param(
        RESOURCES,
        with_container(resources={"requests": {"cpu": "1"}}),
        ["container 'main' sets no memory request, memory limit"],
        id="some resources",
    ),
    pytest.param(NON_ROOT, with_container(), ["container 'main' may run as root"], id="nothing said of root"),
    pytest.param(NON_ROOT, with_spec(securityContext={"runAsNonRoot": True}), [], id="the pod is not root"),
    pytest.param(NON_ROOT, with_container(securityContext={"runAsUser": 1000}), [], id="the user is named"),
    pytest.param(
        NON_ROOT,
        with_container(securityContext={"runAsUser": 0, "runAsNonRoot": True}),
        ["container 'main' runs as user 0"],
        id="root by number",
    ),
    pytest.param(
        PolicySpec(forbid_privileged=True),
        with_container(securityContext={"privileged": True}),
        ["container 'main' is privileged"],
        id="privileged",
    ),
    pytest.param(
        PolicySpec(forbid_privileged=True),
        with_container(securityContext={"privileged": False}),
        [],
        id="not privileged",
    ),
    pytest.param(
        PolicySpec(forbid_host_path=True),
        with_spec(volumes=[{"name": "v", "hostPath": {"path": "/var/run"}}, {"name": "w", "emptyDir": {}}]),
        ["pod mounts the host's /var/run"],
        id="host path",
    ),
    pytest.param(REGISTRIES, with_container(image="nginx:1"), [], id="a hub image by its short name"),
    pytest.param(REGISTRIES, with_container(image="ghcr.io/acme/web:1"), [], id="below an allowed path"),
    pytest.param(
        REGISTRIES,
        with_container(image="ghcr.io/acme-labs/web:1"),
        ["container 'main' uses image 'ghcr.io/acme-labs/web:1' from a registry that is not allowed"],
        id="whole steps count",
    ),
    pytest.param(
        REGISTRIES, with_container(image=None), ["container 'main' names no image"], id="no image is from nowhere"
    ),
    pytest.param(
        PolicySpec(require_image_pin="tag"),
        with_container(image="a"),
        ["container 'main' uses image 'a' without a tag or digest"],
        id="no tag",
    ),
    pytest.param(
        PolicySpec(require_image_pin="tag"), with_container(image=DIGEST), [], id="a digest is better than a tag"
    ),
    pytest.param(
        PolicySpec(require_image_pin="digest"),
        with_container(image="a:1"),
        ["container 'main' uses image 'a:1' without a digest"],
        id="no digest",
    ),
    pytest.param(
        PolicySpec(forbid_crash_loop=True),
        with_state(state={"waiting": {"reason": "CrashLoopBackOff"}}),
        ["container 'main' is in CrashLoopBackOff"],
        id="crash loop",
    ),
    pytest.param(
        PolicySpec(forbid_crash_loop=True),
        with_state(state={"waiting": {"reason": "ContainerCreating"}}),
        [],
        id="waiting for something else",
    ),
    pytest.param(
        PolicySpec(forbid_oom_killed=True),
        with_state(lastState={"terminated": {"reason": "OOMKilled"}}),
        ["container 'main' was OOM-killed"],
        id="killed before",
    ),
    pytest.param(
        PolicySpec(forbid_oom_killed=True),
        with_state(state={"terminated": {"reason": "Completed"}}),
        [],
        id="ended well",
    ),
]


@pytest.mark.parametrize(("spec", "body", "messages"), CASES)
def test_a_check_finds_what_it_is_for(spec: PolicySpec, body: JsonObject, messages: list[str]) -> None:
    assert found(spec, body) == messages


def test_init_and_ephemeral_containers_are_not_evaluated() -> None:
    bare = container("a:latest", liveness=False, readiness=False)
    assert found(ALL, with_spec(initContainers=[bare], ephemeralContainers=[bare])) == []


def test_without_a_policy_the_five_original_checks_are_on() -> None:
    assert totals_of(ORIGINAL_CHECKS, WORST).units == {
        "latest_tag": 1,
        "missing_liveness": 1,
        "missing_readiness": 1,
        "high_restarts": 5,
        "pending": 1,
    }


def test_every_check_can_be_weighed_and_graded() -> None:
    types = {check.type for check in CHECKS}
    assert types == set(Weights.__struct_fields__) == set(SeverityOverrides.__struct_fields__)


def workload(kind: str = "Deployment", **spec: Any) -> Workload:
    body = {
        "kind": kind,
        "metadata": {"name": "web", "namespace": "production"},
        "spec": {"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}}, **spec},
    }
    return msgspec.convert(body, Workload)


def budget(selector: Any, namespace: str = "production") -> DisruptionBudget:
    body = {"metadata": {"name": "b", "namespace": namespace}, "spec": {"selector": selector}}
    return msgspec.convert(body, DisruptionBudget)


REPLICAS = [
    pytest.param(workload(replicas=1), ["workload has 1 replica (minimum: 2)"], id="one"),
    pytest.param(workload(), ["workload has 1 replica (minimum: 2)"], id="absent is one"),
    pytest.param(workload(replicas=2), [], id="enough"),
    pytest.param(workload(replicas=0), [], id="scaled to nothing"),
    pytest.param(workload(replicas=-4), ["workload has -4 replicas (minimum: 2)"], id="negative"),
    pytest.param(workload("DaemonSet"), [], id="one a node"),
    pytest.param(workload("Job"), [], id="a job"),
]


@pytest.mark.parametrize(("asked", "messages"), REPLICAS)
def test_a_workload_has_enough_replicas(asked: Workload, messages: list[str]) -> None:
    result = evaluator_of(PolicySpec(min_replicas=2)).evaluate_workload(asked, (), now=NOW)
    assert [each.message for each in result.findings] == messages
    assert result.pods == 0


BUDGETS = [
    pytest.param((), False, id="none"),
    pytest.param((budget({"matchLabels": {"app": "web"}}),), True, id="by its labels"),
    pytest.param((budget({}),), True, id="for everything"),
    pytest.param((budget(None),), False, id="for nothing"),
    pytest.param((budget({"matchLabels": {"app": "db"}}),), False, id="for another"),
    pytest.param((budget({}, namespace="staging"),), False, id="of another namespace"),
    pytest.param((budget({"matchLabels": 7}),), False, id="that is malformed"),
]


@pytest.mark.parametrize(("budgets", "is_covered"), BUDGETS)
def test_a_workload_is_covered_by_a_budget(budgets: tuple[DisruptionBudget, ...], is_covered: bool) -> None:
    result = evaluator_of(PolicySpec(require_disruption_budget=True)).evaluate_workload(workload(), budgets, now=NOW)
    assert (result.findings == ()) is is_covered


def test_the_selector_of_a_budget_is_compiled_once_for_all_workloads() -> None:
    spec = budget({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}).spec
    assert spec is not None
    first = spec.matches
    assert first({"app": "api"})
    assert spec.matches is first


def change_of(check: Check) -> JsonObject:
    """The YAML of a remedy."""
    _, start, rest = check.remedy.partition("{")
    changed = yaml.load((start + rest[: rest.rindex("}") + 1]).encode())
    assert isinstance(changed, dict)
    return changed


REMEDIED = [
    pytest.param(LATEST_TAG, PolicySpec(forbid_latest_tag=True), {"image": "a:latest"}, id="latest"),
    pytest.param(MISSING_LIVENESS, PolicySpec(require_liveness_probe=True), {"livenessProbe": None}, id="liveness"),
    pytest.param(MISSING_READINESS, PolicySpec(require_readiness_probe=True), {"readinessProbe": None}, id="readiness"),
    pytest.param(MISSING_RESOURCES, RESOURCES, {"resources": {}}, id="resources"),
    pytest.param(RUN_AS_ROOT, NON_ROOT, {"securityContext": {"runAsUser": 0}}, id="root"),
    pytest.param(
        PRIVILEGED, PolicySpec(forbid_privileged=True), {"securityContext": {"privileged": True}}, id="privileged"
    ),
    pytest.param(UNPINNED_IMAGE, PolicySpec(require_image_pin="digest"), {"image": "a:1"}, id="unpinned"),
]


@pytest.mark.parametrize(("check", "spec", "faulty"), REMEDIED)
def test_what_a_remedy_says_removes_the_finding(check: Check, spec: PolicySpec, faulty: JsonObject) -> None:
    assert found(spec, with_container(**faulty))
    assert found(spec, with_container(**{**faulty, **change_of(check)})) == []


def test_the_remedies_of_workloads_and_volumes_remove_the_finding() -> None:
    few = evaluator_of(PolicySpec(min_replicas=3))
    assert few.evaluate_workload(workload(replicas=1), (), now=NOW).findings
    assert not few.evaluate_workload(workload(**change_of(FEW_REPLICAS)), (), now=NOW).findings
    own = (budget(change_of(MISSING_BUDGET)["spec"]["selector"]),)
    unguarded = evaluator_of(PolicySpec(require_disruption_budget=True))
    assert not unguarded.evaluate_workload(workload(), own, now=NOW).findings
    hosted = {"name": "data", "hostPath": {"path": "/etc"}}
    forbidding = PolicySpec(forbid_host_path=True)
    assert found(forbidding, with_spec(volumes=[hosted]))
    assert found(forbidding, with_spec(volumes=[{"name": "data", **change_of(HOST_PATH)}])) == []


def test_every_check_says_what_to_do() -> None:
    assert [each.type for each in CHECKS if not each.remedy] == []


IMAGES = [
    ("nginx", ("docker.io/library/nginx", "", "")),
    ("acme/web:1", ("docker.io/acme/web", "1", "")),
    ("localhost:5000/web", ("localhost:5000/web", "", "")),
    ("localhost/web:2", ("localhost/web", "2", "")),
    ("r.io/a/b:3@sha256:ff", ("r.io/a/b", "3", "sha256:ff")),
    ("", ("docker.io/library/", "", "")),
]


@pytest.mark.parametrize(("reference", "parts"), IMAGES)
def test_an_image_reference_has_parts(reference: str, parts: tuple[str, str, str]) -> None:
    assert parse_image(reference) == parts
