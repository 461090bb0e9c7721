"""The definitions of the kinds: what the original's objects and its users rely on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from homeostat.operators.contracts.api import PACTO, PACTO_REVISION, Pacto
from homeostat.operators.contracts.engine.checks.resources import Target


def _version(definition: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = definition["spec"]["versions"][0]
    return found


def _pacto(**spec: Any) -> Pacto:
    return msgspec.convert({"metadata": {"name": "quay"}, "spec": spec}, Pacto)


def test_names_scope_and_columns_are_those_of_the_original() -> None:
    definition = PACTO.definition()
    assert definition["metadata"]["name"] == "pactos.pacto.trianalab.io"
    assert definition["spec"]["scope"] == "Namespaced"
    assert _version(definition)["subresources"] == {"status": {}}
    columns = {each["name"]: each["jsonPath"] for each in _version(definition)["additionalPrinterColumns"]}
    assert columns == {
        "Status": ".status.contractStatus",
        "Service": ".spec.target.serviceName",
        "Version": ".status.contractVersion",
        "Passed": ".status.summary.passed",
        "Failed": ".status.summary.failed",
        "Last Reconciled": ".status.lastReconciledAt",
        "Age": ".metadata.creationTimestamp",
    }
    assert [each["name"] for each in _version(PACTO_REVISION.definition())["additionalPrinterColumns"]] == [
        "Version",
        "Pacto",
        "Resolved",
        "Age",
    ]


def test_the_spec_has_the_defaults_and_limits_of_the_original() -> None:
    schema = _version(PACTO.definition())["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert schema["required"] == ["contractRef"]
    assert "required" not in schema["properties"]["contractRef"]
    interval = schema["properties"]["checkIntervalSeconds"]
    assert (interval["default"], interval["minimum"], interval["format"]) == (300, 30, "int32")
    kind = schema["properties"]["target"]["properties"]["workloadRef"]["properties"]["kind"]
    assert kind["default"] == "Deployment"
    assert set(kind["enum"]) == {"Deployment", "StatefulSet", "ReplicaSet", "Job", "CronJob"}


@pytest.mark.parametrize(
    ("target", "bound"),
    [
        (None, None),
        ({}, None),
        ({"serviceName": "quay"}, Target("quay", "Deployment", "quay")),
        ({"workloadRef": {"name": "tide", "kind": "Job"}}, Target("tide", "Job", "")),
        ({"serviceName": "quay", "workloadRef": {"name": "tide"}}, Target("tide", "Deployment", "quay")),
    ],
)
def test_a_target_defaults_to_the_deployment_of_the_service(target: Any, bound: Target | None) -> None:
    assert _pacto(contractRef={}, **({} if target is None else {"target": target})).target == bound


def test_inline_counts_alone() -> None:
    assert _pacto(contractRef={"inline": "x", "oci": "registry.example.org/port/quay"}).oci == ""
    assert _pacto(contractRef={"oci": "registry.example.org/port/quay"}).oci == "registry.example.org/port/quay"
