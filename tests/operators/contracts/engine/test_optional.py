"""Optional checks, severities and allowed drift."""

from __future__ import annotations

from datetime import date

import pytest

from homeostat.operators.contracts.engine.checks.evaluate import Evaluation, Loaded, Observed, evaluate
from homeostat.operators.contracts.engine.checks.optional import ALL, CheckOptions
from homeostat.operators.contracts.engine.checks.resources import Target
from homeostat.operators.contracts.engine.checks.series import figures
from homeostat.operators.contracts.engine.checks.snapshot import Snapshot, Workload
from homeostat.operators.contracts.engine.document.parse import parse_contract

_TEXT = """pactoVersion: "1.2"
service: {name: quay, version: 1.0.0, image: {ref: registry.example.org/port/quay:1.0.0}}
dependencies:
  - {name: rates, ref: "oci://registry.example.org/c/rates", required: true, compatibility: ^3.1.0}
  - {name: tide, ref: "oci://registry.example.org/c/tide", required: false, compatibility: ^1.0.0}
runtime:
  workload: service
  state: {type: stateless, persistence: {scope: local, durability: ephemeral}, dataCriticality: low}
scaling: {min: 2, max: 6}
"""


def _evaluated(options: CheckOptions, **workload: object) -> Evaluation:
    facts: dict[str, object] = {
        "kind": "Deployment",
        "images": ("registry.example.org/port/quay:1.0.0",),
        "named_images": (("main", "registry.example.org/port/quay:1.0.0"), ("proxy", "envoy:1.30")),
        "replicas": 2,
    }
    snapshot = Snapshot(workload=Workload(**(facts | workload)))  # type: ignore[arg-type]
    observed = Observed(target=Target("quay"), namespace="port", snapshot=snapshot, options=options)
    return evaluate(Loaded(parse_contract(_TEXT.encode())), today=date(2026, 11, 17), observed=observed)


def _says(found: Evaluation, check: str) -> tuple[str, str] | None:
    return next(((each.status, each.reason) for each in found.conditions if each.type == check), None)


def test_nothing_is_checked_that_the_object_does_not_ask_for() -> None:
    found = _evaluated(CheckOptions(), replicas=100)
    assert found.fields["summary"] == {"total": 5, "passed": 5, "failed": 0}
    assert found.status == "Compliant"


@pytest.mark.parametrize(
    ("replicas", "says"), [(1, ("False", "Mismatch")), (2, ("True", "Match")), (6, ("True", "Match")), (None, None)]
)
def test_replicas_are_compared_with_the_contract(replicas: int | None, says: tuple[str, str] | None) -> None:
    assert _says(_evaluated(CheckOptions(has_scaling=True), replicas=replicas), "ScalingMatch") == says


@pytest.mark.parametrize(
    ("containers", "says"),
    [
        ({"proxy": "envoy"}, ("True", "Match")),
        ({"proxy": "envoy:1.31"}, ("False", "Mismatch")),
        ({"sidecar": "envoy"}, ("False", "Missing")),
    ],
)
def test_the_images_of_further_containers_are_compared(containers: dict[str, str], says: tuple[str, str]) -> None:
    assert _says(_evaluated(CheckOptions(containers=containers)), "ContainerImagesMatch") == says


@pytest.mark.parametrize(
    ("running", "says"),
    [
        ({"rates": ["3.2.0"], "tide": ["9.0.0"]}, ("True", "Compatible")),
        ({"rates": ["3.2.0", "2.0.0"]}, ("False", "Incompatible")),
        ({}, ("True", "Compatible")),
    ],
    ids=["a dependency that is not required does not count", "incompatible", "what does not run here is not judged"],
)
def test_the_versions_of_required_dependencies_that_run_here_are_compared(
    running: dict[str, list[str]], says: tuple[str, str]
) -> None:
    found = _evaluated(CheckOptions(running=running))
    assert _says(found, "DependenciesCompatible") == says
    assert found.status == ("Compliant" if says[0] == "True" else "Warning")


def test_a_severity_of_the_object_replaces_the_usual_one() -> None:
    other = ("nginx:1",)
    assert _evaluated(CheckOptions(severities={"ImageMatch": "error"}), images=other).status == "NonCompliant"
    assert _evaluated(CheckOptions(severities={"ImageMatch": "ignore"}), images=other).status == "Compliant"
    assert _evaluated(CheckOptions(severities={"StateModelMatch": "warning"}), has_claim=True).status == "Warning"


@pytest.mark.parametrize("check", ["ImageMatch", ALL])
def test_allowed_drift_is_shown_and_does_not_lower_the_status(check: str) -> None:
    found = _evaluated(CheckOptions(allowed={check: "allowed until noon: a hotfix"}), images=("nginx:1",))
    assert found.status == "Compliant"
    assert _says(found, "ImageMatch") == ("False", "Mismatch")
    (message,) = [each.message for each in found.conditions if each.type == "ImageMatch"]
    assert message.endswith("allowed until noon: a hotfix")
    assert found.fields["summary"]["failed"] == 1
    assert all(passed for _, _, passed in figures(found).results)
