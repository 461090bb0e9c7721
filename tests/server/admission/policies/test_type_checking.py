"""Warnings about the types of a policy's expressions."""

from __future__ import annotations

from typing import Any

from homeostat.plane import Plane
from tests.api.objects import CRDS, definition
from tests.server.admission.hooks import POLICIES, policy


def rules(*resources: tuple[str, str]) -> dict[str, Any]:
    return {
        "resourceRules": [
            {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["*"], "resources": [plural]}
            for group, plural in resources
        ]
    }


async def status(plane: Plane, *expressions: str, **spec: Any) -> dict[str, Any]:
    validations = [{"expression": each} for each in expressions]
    made = await plane.client.create(POLICIES, {**policy(*validations, **spec), "metadata": {"generateName": "p-"}})
    found: dict[str, Any] = made["status"]
    return found


async def test_the_status_of_a_policy_names_fields_that_the_kinds_do_not_have(plane: Plane) -> None:
    match = rules(("apps", "deployments"), ("", "pods"), ("", "nothing"), ("*", "secrets"))
    found = await status(plane, "object.replicas > 1", "has(object.metadata.name)", matchConstraints=match)
    (warning,) = found["typeChecking"]["expressionWarnings"]
    assert found["observedGeneration"] == 1
    assert warning["fieldRef"] == "spec.validations[0].expression"
    mistake = "ERROR: <input>:1:7: undefined field 'replicas'\n | object.replicas > 1\n | ......^\n"
    assert warning["warning"] == f"/v1, Kind=Pod: {mistake}\napps/v1, Kind=Deployment: {mistake}"


async def test_types_of_variables_parameters_and_custom_kinds_are_checked(plane: Plane) -> None:
    await plane.client.create(CRDS, definition())
    found = await status(
        plane,
        "variables.labels.all(k, k.startsWith('a')) && variables.labels['a'] > 5",
        "params.data.limit == '5' && namespaceObject.metadata.labels.a == 'b' && request.operation == 'CREATE'",
        "params.nothing == 1",
        "object.spec.nothing == 1",
        "authorizer.requestResource.check('get').allowed()"
        " && oldObject.metadata.creationTimestamp > timestamp('2024-01-01T00:00:00Z')",
        matchConstraints=rules(("example.com", "widgets")),
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        variables=[{"name": "labels", "expression": "object.metadata.labels"}],
    )
    told = {each["fieldRef"]: each["warning"] for each in found["typeChecking"]["expressionWarnings"]}
    assert list(told) == [f"spec.validations[{index}].expression" for index in (0, 2, 3)]
    assert "found no matching overload for '_>_' applied to '(string, int)'" in told["spec.validations[0].expression"]
    assert "undefined field 'nothing'" in told["spec.validations[2].expression"]


async def test_a_policy_is_checked_again_when_its_spec_changes(plane: Plane) -> None:
    name = "p"
    match = rules(("apps", "deployments"))
    made = await plane.client.create(
        POLICIES,
        {**policy({"expression": "object.spec.none == 1"}, matchConstraints=match), "metadata": {"name": name}},
    )
    assert made["status"]["typeChecking"]["expressionWarnings"]
    made["spec"]["validations"][0]["expression"] = "object.spec.replicas < 5"
    mended = await plane.client.update(f"{POLICIES}/{name}", made)
    assert mended["status"] == {"observedGeneration": 2, "typeChecking": {}}
    recursive = await status(
        plane,
        "object.spec.versions.all(v, v.schema.openAPIV3Schema.properties['a'].properties['b'].type == 'string')",
        matchConstraints=rules(("apiextensions.k8s.io", "customresourcedefinitions")),
    )
    assert recursive["typeChecking"] == {}


async def test_the_checks_of_a_policy_are_bounded_however_many_kinds_and_variables_it_has(plane: Plane) -> None:
    core = ("configmaps", "endpoints", "events", "limitranges", "pods", "podtemplates", "secrets", "services")
    match = rules(*(("", each) for each in core), *(("apps", each) for each in ("daemonsets", "deployments")))
    match["resourceRules"] += rules(("apps", "replicasets"), ("apps", "statefulsets"))["resourceRules"]
    plain = await status(plane, "object.nothing == 1", matchConstraints=match)
    variables = [{"name": f"v{at}", "expression": "object.metadata.name"} for at in range(125)]
    varied = await status(plane, "object.nothing == 1", matchConstraints=match, variables=variables)
    checked = [each["typeChecking"]["expressionWarnings"][0]["warning"].count("Kind=") for each in (plain, varied)]
    assert checked == [10, 2]
