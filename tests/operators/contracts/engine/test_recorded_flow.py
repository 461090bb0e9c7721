"""Recorded flows of commands, as far as no registry, plugin or directory has a part in them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from homeostat.external.oci.bundle import pack_bundle, unpack_bundle
from homeostat.operators.contracts.engine.bundle.artifact import PublishError, publish_reference
from homeostat.operators.contracts.engine.document.parse import parse_contract
from homeostat.operators.contracts.engine.plugin import PluginError, plugin_request, read_answer
from homeostat.operators.contracts.engine.scaffold import new_bundle
from homeostat.operators.contracts.engine.validate import load, validate_files
from tests.operators.contracts.flow import Answer, Flow
from tests.operators.contracts.recorded import comparable, comparable_lines, files_of, lock_data, recorded
from tests.operators.contracts.visible import visible

_CASES: dict[str, Any] = recorded("flow")
_OWN = ("pack-ignore", "pack-invalid", "push-pull", "push-refused", "init", "generate", "generate-escape")
"""Flows of commands that act; their pure parts have tests of their own below."""


@pytest.mark.parametrize("name", [name for name in _CASES if name not in _OWN])
def test_a_flow_goes_as_recorded(name: str) -> None:
    case = _CASES[name]
    flow = Flow(case["tree"], case.get("push"))
    for step, expected in zip(case["steps"], case["expect"]["steps"], strict=True):
        if "run" in step:
            _check(flow.run(step["run"]), expected)
        for path, text in step.get("write", {}).items():
            flow.tree[path] = text.encode()
        for reference, files in step.get("push", {}).items():
            flow.push(reference, files)
        for path in step.get("read", []):
            assert lock_data(flow.tree[path]) == lock_data(expected["files"][path].encode())


def _check(found: Answer, expected: dict[str, Any]) -> None:
    assert found.exit == expected["exit"]
    if "json" in expected:
        assert comparable(found.json) == comparable(expected["json"])
    elif found.exit == 0:
        assert comparable_lines(found.stdout) == comparable_lines(expected["stdout"])
    if "_" in expected["stderr"].partition(":")[0]:
        assert found.stderr.partition(":")[0] == expected["stderr"].partition(":")[0]


def test_a_pack_holds_what_is_not_ignored() -> None:
    case = _CASES["pack-ignore"]
    files = {path.removeprefix("mill/"): data for path, data in files_of(case["tree"]).items()}
    assert sorted(unpack_bundle(pack_bundle(visible(files)))) == case["expect"]["steps"][1]["names"]


def test_an_invalid_contract_is_not_packed() -> None:
    files = {path.removeprefix("mill/"): data for path, data in files_of(_CASES["pack-invalid"]["tree"]).items()}
    assert len(validate_files(files).findings.errors) == 1


@pytest.mark.parametrize("place", range(4))
def test_a_push_is_refused_as_recorded(place: int) -> None:
    case = _CASES["push-refused"]
    _, ref, _, directory = case["steps"][place]["run"]
    contract = load({"pacto.yaml": case["tree"][f"{directory}/pacto.yaml"].encode()}).contract
    with pytest.raises(PublishError) as refused:
        publish_reference(ref, contract)
    assert str(refused.value) == case["expect"]["steps"][place]["stderr"]


def test_a_push_without_a_tag_goes_to_the_version() -> None:
    contract = load({"pacto.yaml": b'pactoVersion: "1.0"\nservice: {name: mill, version: 1.1.0}\n'}).contract
    assert publish_reference("oci://registry.test:5000/pp/mill", contract) == "registry.test:5000/pp/mill:1.1.0"
    assert publish_reference("oci://registry.test/pp/mill:x", contract) == "registry.test/pp/mill:x"


def test_a_new_bundle_is_valid() -> None:
    files = new_bundle("windmill")
    findings = validate_files(files).findings
    assert (findings.errors, findings.warnings) == ([], [])
    assert load(files).contract.service.name == "windmill"


def test_a_plugin_is_given_the_contract() -> None:
    case = _CASES["generate"]
    contract = load({"pacto.yaml": case["tree"]["mill/pacto.yaml"].encode()}).contract
    request = plugin_request(contract, bundle_dir="mill", output_dir="echo-output", options={"a": "1", "b": "x"})
    assert json.loads(request) == json.loads(case["expect"]["steps"][1]["files"]["in.json"])


def test_a_plugin_sees_what_is_false() -> None:
    dependencies = 'dependencies: [{name: b, ref: ../b, compatibility: "*"}]'
    text = f'pactoVersion: "1.0"\nservice: {{name: a, version: 1.0.0}}\n{dependencies}\n'
    request = plugin_request(parse_contract(text.encode()).contract, bundle_dir="a", output_dir="o", options={})
    expected = [{"name": "b", "ref": "../b", "required": False, "compatibility": "*"}]
    assert json.loads(request)["contract"]["dependencies"] == expected


@pytest.mark.parametrize("path", ["../evil.txt", "/etc/x", "a/../../b", "", "a\\..\\b"])
def test_a_plugin_writes_nothing_outside(path: str) -> None:
    with pytest.raises(PluginError, match="escapes output directory"):
        read_answer(json.dumps({"files": [{"path": path, "content": "x"}]}).encode())
