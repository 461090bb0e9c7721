"""The checks of a workload, one fact each."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.operators.contracts.engine.checks.image import is_image
from homeostat.operators.contracts.engine.checks.resources import Target, check_resources, compare_ports, target_of
from homeostat.operators.contracts.engine.checks.runtime import check_runtime, check_state, check_strategy
from homeostat.operators.contracts.engine.checks.snapshot import Snapshot, Workload, observe
from homeostat.operators.contracts.engine.checks.verdict import Verdict, contract_status
from homeostat.operators.contracts.engine.document.contract import (
    Contract,
    Health,
    Image,
    Interface,
    Lifecycle,
    Persistence,
    Runtime,
    Service,
    State,
)


def _outcome(verdict: Verdict) -> tuple[str, str]:
    return verdict.status, verdict.reason


def _workload(kind: str = "Deployment", **fields: Any) -> Workload:
    return Workload(kind=kind, **fields)


@pytest.mark.parametrize(
    ("workload", "kind", "holds"),
    [
        ("service", "Deployment", True),
        ("service", "StatefulSet", True),
        ("service", "ReplicaSet", False),
        ("service", "Job", False),
        ("job", "Job", True),
        ("job", "Deployment", False),
        ("scheduled", "CronJob", True),
        ("scheduled", "Job", False),
    ],
)
def test_the_kind_fits_the_declared_workload(workload: str, kind: str, holds: bool) -> None:
    contract = Contract(runtime=Runtime(workload=workload))
    first = check_runtime(contract, _workload(kind))[0]
    assert (first.check, first.is_failed, first.severity) == ("WorkloadTypeMatch", not holds, "error")


@pytest.mark.parametrize(
    ("state", "durability", "kind", "has_claim", "expected"),
    [
        ("stateless", "ephemeral", "Deployment", False, ("True", "Match")),
        ("stateless", "ephemeral", "Deployment", True, ("False", "Mismatch")),
        ("stateful", "persistent", "Deployment", True, ("False", "Mismatch")),
        ("stateful", "persistent", "StatefulSet", False, ("False", "Missing")),
        ("stateful", "persistent", "StatefulSet", True, ("True", "Match")),
        ("stateful", "ephemeral", "StatefulSet", False, ("True", "Match")),
        ("hybrid", "persistent", "Deployment", False, ("False", "Missing")),
        ("hybrid", "persistent", "Deployment", True, ("True", "Match")),
        ("hybrid", "ephemeral", "Deployment", False, ("True", "Match")),
    ],
)
def test_storage_fits_the_declared_state(
    state: str, durability: str, kind: str, has_claim: bool, expected: tuple[str, str]
) -> None:
    declared = State(type=state, persistence=Persistence(durability=durability))
    verdict = check_state(declared, _workload(kind, has_claim=has_claim))
    assert _outcome(verdict) == expected
    assert verdict.severity == "error"


@pytest.mark.parametrize(
    ("declared", "fields", "expected"),
    [
        ("rolling", {"deployment_strategy": "RollingUpdate"}, ("True", "Match")),
        ("recreate", {"deployment_strategy": "Recreate"}, ("True", "Match")),
        ("ordered", {"pod_management_policy": "OrderedReady"}, ("True", "Match")),
        ("ordered", {"pod_management_policy": "Parallel"}, ("False", "Mismatch")),
        ("rolling", {"deployment_strategy": "Recreate"}, ("False", "Mismatch")),
        ("rolling", {}, ("True", "Skipped")),
    ],
)
def test_the_strategy_fits(declared: str, fields: dict[str, str], expected: tuple[str, str]) -> None:
    assert _outcome(check_strategy(declared, _workload(**fields))) == expected


@pytest.mark.parametrize(
    ("actual", "expected"), [(30, ("True", "Match")), (60, ("False", "Mismatch")), (None, ("False", "Missing"))]
)
def test_seconds_are_equal(actual: int | None, expected: tuple[str, str]) -> None:
    contract = Contract(
        runtime=Runtime(
            workload="service",
            state=State(type="hybrid"),
            lifecycle=Lifecycle(graceful_shutdown_seconds=30),
            health=Health(interface="w", initial_delay_seconds=30),
        )
    )
    verdicts = check_runtime(contract, _workload(termination_grace_period_s=actual, probe_delay_s=actual))
    assert [(each.check, _outcome(each)) for each in verdicts[2:]] == [
        ("GracefulShutdownMatch", expected),
        ("HealthTimingMatch", expected),
    ]


def test_zero_seconds_are_declared_seconds() -> None:
    runtime = Runtime(workload="service", state=State(type="hybrid"), lifecycle=Lifecycle(graceful_shutdown_seconds=0))
    assert len(check_runtime(Contract(runtime=runtime), _workload(termination_grace_period_s=0))) == 3


@pytest.mark.parametrize(
    ("declared", "running", "holds"),
    [
        ("ghcr.io/o/s:v1", "ghcr.io/o/s:v1", True),
        ("ghcr.io/o/s", "ghcr.io/o/s:v2", True),
        ("ghcr.io/o/s:v1", "ghcr.io/o/s:v2", False),
        ("ghcr.io/o/s", "ghcr.io/o/t:v2", False),
        ("nginx", "docker.io/library/nginx:latest", True),
        ("myapp:v1", "docker.io/library/myapp:v1", True),
        ("u/app", "docker.io/u/app@sha256:abc", True),
        ("nginx@sha256:abc", "docker.io/library/nginx:latest", False),
        ("localhost:5000/img", "localhost:5000/img:1", True),
    ],
)
def test_an_image_is_the_declared_one(declared: str, running: str, holds: bool) -> None:
    assert is_image(declared, running) is holds


def test_an_image_without_a_container_is_missing() -> None:
    contract = Contract(
        service=Service(image=Image(ref="nginx")), runtime=Runtime(workload="service", state=State(type="hybrid"))
    )
    assert _outcome(check_runtime(contract, _workload())[-1]) == ("False", "Missing")


def test_without_a_runtime_section_or_a_workload_nothing_is_compared() -> None:
    assert check_runtime(Contract(service=Service(image=Image(ref="nginx"))), _workload(images=("x",))) == []
    assert check_runtime(Contract(runtime=Runtime(workload="service")), None) == []


def test_ports_that_nobody_declared_do_not_fail() -> None:
    contract = Contract(interfaces=(Interface(name="e", type="event"), Interface(name="w", type="http", port=80)))
    snapshot = Snapshot(service_ports=(80, 9090), workload=_workload())
    assert compare_ports(contract, snapshot).unexpected == (9090,)
    found = [(each.check, _outcome(each)) for each in check_resources(contract, Target("w", service="s"), snapshot)]
    assert found == [
        ("ServiceExists", ("True", "Found")),
        ("WorkloadExists", ("True", "Found")),
        ("PortsValid", ("True", "AllPortsMatch")),
    ]


def test_a_workload_alone_is_one_check() -> None:
    verdicts = check_resources(Contract(), Target("w", "CronJob"), Snapshot())
    assert [(each.check, _outcome(each)) for each in verdicts] == [("WorkloadExists", ("False", "NotFound"))]


def test_a_target_without_a_workload_is_a_deployment_named_like_the_service() -> None:
    assert target_of("api", None) == Target("api", "Deployment", "api")
    assert target_of("", ("api", "")) == Target("api", "Deployment", "")
    assert target_of("", None) is None


def test_facts_are_read_from_a_pod_template() -> None:
    template = {
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "a:1",
                    "livenessProbe": {"initialDelaySeconds": 15},
                    "startupProbe": {"initialDelaySeconds": 99},
                },
                {"image": "b:1"},
            ],
            "initContainers": [{"image": "c:1"}],
            "volumes": [{"emptyDir": {}}, {"persistentVolumeClaim": {"claimName": "x"}}],
        }
    }
    found = observe(None, {"spec": {"template": template}}, kind="Deployment", with_defaults=True).workload
    assert found == Workload(
        kind="Deployment",
        deployment_strategy="RollingUpdate",
        termination_grace_period_s=30,
        images=("a:1", "b:1"),
        named_images=(("main", "a:1"), ("", "b:1")),
        replicas=1,
        has_claim=True,
        has_empty_dir=True,
        probe_delay_s=15,
    )
    job = observe(None, {"spec": {"jobTemplate": {"spec": {"template": template}}}}, kind="CronJob").workload
    assert job is not None
    assert (job.images, job.termination_grace_period_s) == (("a:1", "b:1"), None)


def test_a_claim_template_is_a_claim_and_readiness_comes_first() -> None:
    spec = {
        "volumeClaimTemplates": [{}],
        "podManagementPolicy": "Parallel",
        "template": {"spec": {"containers": [{"readinessProbe": {}, "livenessProbe": {"initialDelaySeconds": 5}}]}},
    }
    found = observe({"spec": {}}, {"spec": spec}, kind="StatefulSet")
    assert found.service_ports == ()
    assert found.workload is not None
    assert (found.workload.has_claim, found.workload.probe_delay_s) == (True, 0)
    assert found.workload.pod_management_policy == "Parallel"


@pytest.mark.parametrize("odd", [{}, {"spec": None}, {"spec": {"template": []}}, {"spec": {"template": {"spec": 3}}}])
def test_an_odd_object_is_a_workload_without_facts(odd: dict[str, Any]) -> None:
    assert observe(odd, odd, kind="Deployment").workload == Workload(kind="Deployment")


@pytest.mark.parametrize(
    ("failed", "status"),
    [
        ([], "Compliant"),
        (["ImageMatch"], "Warning"),
        (["PortsValid", "HealthEndpointValid"], "Warning"),
        (["ImageMatch", "StateModelMatch"], "NonCompliant"),
        (["ServiceExists"], "NonCompliant"),
    ],
)
def test_the_status_is_that_of_the_worst_check(failed: list[str], status: str) -> None:
    assert contract_status(Verdict(each, "False", "Mismatch", "") for each in failed) == status


def test_an_unknown_verdict_lowers_nothing() -> None:
    assert contract_status([Verdict("HealthEndpointValid", "Unknown", "ProbePending", "")]) == "Compliant"
