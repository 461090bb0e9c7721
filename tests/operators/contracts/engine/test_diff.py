"""Differences and their classification beyond the recorded ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.diff.change import Change, worst
from homeostat.operators.contracts.engine.diff.compare import diff_contracts
from homeostat.operators.contracts.engine.diff.json_diff import is_same
from homeostat.operators.contracts.engine.diff.sbom import SbomChange, compare_sboms, read_sbom
from homeostat.operators.contracts.engine.validate import load

_STATE = {
    "type": "stateless",
    "persistence": {"scope": "local", "durability": "ephemeral"},
    "dataCriticality": "low",
}


def _bundle(contract: dict[str, Any] | None = None, **files: Any) -> Bundle:
    document = {"pactoVersion": "1.2", "service": {"name": "kiln", "version": "1.0.0"}, **(contract or {})}
    content = {"pacto.yaml": yaml.safe_dump(document).encode()}
    content |= {name.replace("__", "/").replace("_", "."): json.dumps(value).encode() for name, value in files.items()}
    return Bundle(load(content).contract, content)


def _outcome(changes: list[Change]) -> list[tuple[str, str, str]]:
    return [(each.path, each.type, each.classification[0]) for each in changes]


def _service(**fields: Any) -> dict[str, Any]:
    return {"service": {"name": "kiln", "version": "1.0.0", **fields}}


def _runtime(**fields: Any) -> dict[str, Any]:
    return {"runtime": {"workload": "service", "state": _STATE, **fields}}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({}, {"pactoVersion": "1.1"}, ("pactoVersion", "modified", "N")),
        ({}, _service(name="oven"), ("service.name", "modified", "B")),
        (_service(owner={"team": "a"}), _service(owner={"dri": "b"}), None),
        (
            _service(owner={"contacts": [{"type": "email", "value": "x"}]}),
            _service(owner={"contacts": [{"type": "email", "value": "x", "purpose": "support"}]}),
            ("service.owner.contacts[email:x]", "modified", "N"),
        ),
        (_runtime(), _runtime(workload="job"), ("runtime.workload", "modified", "B")),
        (
            _runtime(),
            _runtime(state={**_STATE, "dataCriticality": "high"}),
            ("runtime.state.dataCriticality", "modified", "P"),
        ),
        (
            {"scaling": {"replicas": 1}},
            {"scaling": {"min": 1, "max": 1}},
            ("scaling", "modified", "P"),
        ),
        ({"scaling": {"replicas": 1}}, {"scaling": {"replicas": 2}}, ("scaling.replicas", "modified", "P")),
        (
            {"dependencies": [{"name": "a", "ref": "../a", "compatibility": "^1"}]},
            {"dependencies": [{"name": "a", "ref": "../a", "compatibility": "^1", "required": True}]},
            ("dependencies.required", "modified", "P"),
        ),
        (
            {"interfaces": [{"name": "e", "type": "event", "port": 1, "contract": "e"}]},
            {"interfaces": [{"name": "e", "type": "event", "contract": "e"}]},
            ("interfaces.port", "removed", "B"),
        ),
        (
            {"configurations": [{"name": "a", "schema": "c", "values": {"X": 1}}]},
            {"configurations": [{"name": "a", "schema": "c", "values": {"X": 2}}]},
            ("configurations[a].values.X", "modified", "N"),
        ),
        (
            {"policies": [{"name": "a", "ref": "oci://r/a"}]},
            {"policies": [{"name": "a", "ref": "oci://r/b"}]},
            ("policies.ref", "modified", "P"),
        ),
        ({"readiness": {"expires": "2091-01-01", "checks": []}}, {}, ("readiness", "removed", "N")),
    ],
)
def test_a_change_is_classified(
    old: dict[str, Any], new: dict[str, Any], expected: tuple[str, str, str] | None
) -> None:
    found = _outcome(diff_contracts(_bundle(old), _bundle(new)))
    if expected is None:
        expected_all = [("service.owner.team", "removed", "N"), ("service.owner.dri", "added", "N")]
        assert found == expected_all
    else:
        assert found == [expected]


def test_removing_the_runtime_shows_its_fields_as_modified() -> None:
    found = _outcome(diff_contracts(_bundle(_runtime(health={"interface": "w", "path": "/h"})), _bundle()))
    assert ("runtime.workload", "modified", "B") in found
    assert ("runtime.health.path", "removed", "P") in found


def _api(operation: dict[str, Any]) -> Bundle:
    interfaces = {"interfaces": [{"name": "w", "type": "http", "port": 1, "contract": "api.json"}]}
    return _bundle(interfaces, api_json={"paths": {"/x": {"get": operation}}})


def test_parameters_are_compared_by_name_and_place() -> None:
    old = _api({"parameters": [{"name": "a", "in": "query"}, {"name": "b", "in": "query"}, {"in": 3}]})
    new = _api({"parameters": [{"name": "a", "in": "header"}, {"name": "b", "in": "query", "required": True}]})
    place = "openapi.paths[/x].methods[GET].parameters"
    assert _outcome(diff_contracts(old, new)) == [
        (f"{place}[a:header]", "added", "P"),
        (f"{place}[a:query]", "removed", "B"),
        (f"{place}[b:query]", "modified", "P"),
    ]


@pytest.mark.parametrize("broken", [b"a: [", b"paths: 3", b"paths: {/x: 3}", b"- 1"])
def test_an_unreadable_api_has_no_differences(broken: bytes) -> None:
    good = _api({})
    files = {**good.files, "api.json": broken}
    assert diff_contracts(good, Bundle(good.contract, files)) == []


def test_a_required_list_anywhere_in_a_schema_is_breaking() -> None:
    configuration = {"configurations": [{"name": "a", "schema": "c.json"}]}
    old = _bundle(configuration, c_json={"properties": {"a": {"required": ["x"]}, "n": {"enum": [1, 2]}}})
    new = _bundle(configuration, c_json={"properties": {"a": {"required": []}, "n": {"enum": [1, 3, True]}}})
    assert _outcome(diff_contracts(old, new)) == [
        ("schema.properties.a.required[x]", "removed", "B"),
        ("schema.properties.n.enum[1]", "modified", "P"),
        ("schema.properties.n.enum[2]", "added", "P"),
    ]


def test_a_policy_file_that_a_provider_adds_may_break() -> None:
    found = _outcome(diff_contracts(_bundle(), _bundle(policy__schema_json={})))
    assert found == [("policy/schema.json", "added", "P")]


def test_packages_of_spdx_are_compared_by_name() -> None:
    def sbom(*packages: dict[str, str]) -> Any:
        return read_sbom({"sbom/a.spdx.json": json.dumps({"packages": packages}).encode()})

    old = sbom({"name": "a", "versionInfo": "1", "supplier": "Organization: X"}, {"name": "gone", "versionInfo": "1"})
    new = sbom({"name": "a", "versionInfo": "2", "supplier": "Person: X"}, {"name": "new", "versionInfo": "3"})
    found = compare_sboms(old, new)
    assert found is not None
    assert found.changes == [
        SbomChange(package="a", type="modified", field="version", old_value="1", new_value="2"),
        SbomChange(package="gone", type="removed", field="package", old_value="1"),
        SbomChange(package="new", type="added", field="package", new_value="3"),
    ]


def test_an_sbom_that_cannot_be_read_does_not_show_packages_as_removed() -> None:
    readable = read_sbom({"sbom/a.spdx.json": b'{"packages": [{"name": "a"}]}'})
    broken = read_sbom({"sbom/a.spdx.json": b"{"})
    for sides in ((readable, broken), (broken, readable), (None, broken)):
        assert compare_sboms(*sides) is None


@pytest.mark.parametrize("path", ["sbom/deep/a.spdx.json", "a.spdx.json", "sbom/a.json"])
def test_other_files_are_no_sbom(path: str) -> None:
    assert read_sbom({path: b"{}"}) is None


def test_the_worst_change_counts() -> None:
    assert worst([]) == "NON_BREAKING"
    assert worst(["NON_BREAKING", "BREAKING", "POTENTIAL_BREAKING"]) == "BREAKING"


def test_a_number_is_not_a_boolean() -> None:
    assert is_same({"a": [1]}, {"a": [1.0]})
    assert not is_same([1], [True])
