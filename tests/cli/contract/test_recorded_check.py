"""The recorded scenarios of the operator, offline: `check` gives the recorded verdicts on the same objects in files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from homeostat.objects import yaml
from tests.cli.contract.workspace import Workspace
from tests.operators.contracts.recorded import recorded

_CASES: dict[str, Any] = recorded("operator")
_ENDPOINTS = ("HealthEndpointValid", "MetricsEndpointValid")
_ELSEWHERE = ("ReadinessSatisfied", *_ENDPOINTS)


def _named_cases() -> Iterator[tuple[str, tuple[dict[tuple[str, str], Any], Any, Any]]]:
    """Scenarios with an inline contract and a target: the objects so far, and what was observed of each Pacto."""
    for name, case in _CASES.items():
        objects: dict[tuple[str, str], Any] = {}
        for number, step in enumerate(case["steps"]):
            objects |= {(each["kind"], each["metadata"]["name"]): each for each in step.get("apply", [])}
            for pacto, expected in step.get("expect", {}).get("pactos", {}).items():
                spec = objects["Pacto", pacto]["spec"]
                ref = spec["contractRef"]
                if ref.get("inline") and not ref.get("oci") and spec.get("target") and not spec.get("overrides"):
                    yield f"{name}-{number}", (dict(objects), spec, expected)


def verdict_cases() -> list[tuple[dict[tuple[str, str], Any], Any, Any]]:
    return [case for _, case in _named_cases()]


@pytest.mark.parametrize(
    ("objects", "spec", "expected"), [pytest.param(*case, id=name) for name, case in _named_cases()]
)
def test_manifests_get_the_recorded_verdicts(
    bare: Workspace, objects: dict[tuple[str, str], Any], spec: Any, expected: Any
) -> None:
    manifests = [each for (kind, _), each in objects.items() if kind != "Pacto"]
    target, workload = spec["target"], spec["target"].get("workloadRef")
    arguments = ["--service", target["serviceName"]] if target.get("serviceName") else []
    arguments += ["--workload", f"{workload.get('kind', 'Deployment')}/{workload['name']}"] if workload else []
    bare.write(
        {"bundle/pacto.yaml": spec["contractRef"]["inline"], "all.yaml": yaml.dump_all(manifests).decode() or "{}\n"}
    )
    found = bare.run("check", "bundle", "-f", "all.yaml", *arguments, "-o", "json").json
    conditions = {each["type"]: [each["status"], each["reason"]] for each in found["conditions"]}
    wanted = expected["conditions"]
    assert _without(conditions) == _without(wanted)
    if all(wanted.get(each, ["True"])[0] == "True" for each in _ENDPOINTS):
        assert found["contractStatus"] == expected["contractStatus"]
    assert found.get("ports") == expected.get("ports")
    assert found.get("observedRuntime") == expected.get("observedRuntime")


def _without(conditions: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in conditions.items() if name not in _ELSEWHERE}


def test_there_are_enough_of_them() -> None:
    assert len([pytest.param(*case, id=name) for name, case in _named_cases()]) > 20
