"""Every recorded flow, validation, difference and choice of a tag, through the real command and a real registry."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from homeostat.cli.contract import COMMANDS
from tests.cli.contract.workspace import Workspace
from tests.cli.running import Ended
from tests.operators.contracts.recorded import (
    comparable,
    comparable_difference,
    comparable_lines,
    finding_pairs,
    lock_data,
    recorded,
)

_FLOWS: dict[str, Any] = recorded("flow")
_VALIDATE: dict[str, Any] = recorded("validate")
_DIFF: dict[str, Any] = recorded("diff")
_SEMVER: list[dict[str, Any]] = recorded("semver")
_FREE = re.compile(r"digest-of-(\S+)-(\d+)")


class Digests:
    """The digests that a recording names by repository and the order in which they appeared there."""

    def __init__(self, space: Workspace) -> None:
        self._space, self._known = space, dict[str, dict[str, None]]()

    def see(self, name: str, digest: str = "") -> None:
        repository = name.rpartition(":")[0]
        self._known.setdefault(repository, {})[digest or self._space.digest(name)] = None

    def fill(self, text: str) -> str:
        """The expectation with the digests of this run."""

        def digest(found: re.Match[str]) -> str:
            return list(self._known.get(found[1], {}))[int(found[2]) - 1]

        return _FREE.sub(digest, text)


def _is_known(case: dict[str, Any]) -> bool:
    known = {name for members in COMMANDS.values() for name in members}
    return all(any(word in known for word in step["run"]) for step in case["steps"] if "run" in step)


@pytest.mark.parametrize("name", [name for name, case in _FLOWS.items() if _is_known(case)])
def test_a_flow_goes_as_recorded(space: Workspace, name: str) -> None:
    case = recorded("flow", space.registry)[name]
    space.write(case["tree"])
    digests = Digests(space)
    for pushed, files in case.get("push", {}).items():
        digests.see(pushed, space.push(pushed, files))
    for step, expected in zip(case["steps"], case["expect"]["steps"], strict=True):
        _STEPS[next(key for key in step if key != "env")](space, digests, step, expected)


def _run(space: Workspace, digests: Digests, step: dict[str, Any], expected: dict[str, Any]) -> None:
    environ = {key: text.replace("@WORK@", str(space.directory)) for key, text in step.get("env", {}).items()}
    found = space.run(*step["run"], **environ)
    pushed = re.search(rf"{re.escape(space.registry)}/(\S+?)[\"\s]", found.out)
    if pushed and step["run"][0] == "push" and found.code == 0:
        digests.see(pushed[1].rstrip(","))
    _check(found, json.loads(digests.fill(json.dumps(expected))))


def _check(found: Ended, expected: dict[str, Any]) -> None:
    assert (found.code == 0) == (expected["exit"] == 0), found
    if "json" in expected:
        assert comparable(found.json) == comparable(expected["json"])
    else:
        assert comparable_lines(found.out) == comparable_lines(expected["stdout"])
    code = re.match(r"(LOCK|POLICY)_\w+(?=:)", expected["stderr"])
    if code:
        assert found.err.partition(":")[0] == code[0]
    assert bool(found.err) == bool(expected["stderr"]), found.err


def _write(space: Workspace, digests: Digests, step: dict[str, Any], expected: dict[str, Any]) -> None:
    space.write(step["write"])


def _push(space: Workspace, digests: Digests, step: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, files in step["push"].items():
        digests.see(name, space.push(name, files))


def _read(space: Workspace, digests: Digests, step: dict[str, Any], expected: dict[str, Any]) -> None:
    for path in step["read"]:
        wanted = digests.fill(expected["files"][path])
        found = (space.directory / path).read_text()
        if path.endswith("pacto.lock"):
            assert lock_data(found.encode()) == lock_data(wanted.encode())
        elif path.endswith(".json"):
            assert json.loads(found) == json.loads(wanted)
        else:
            assert found == wanted


def _tar(space: Workspace, digests: Digests, step: dict[str, Any], expected: dict[str, Any]) -> None:
    with tarfile.open(space.directory / step["tar"]) as tar:
        assert sorted(each.name for each in tar if each.isfile()) == expected["names"]


def _manifest(space: Workspace, digests: Digests, step: dict[str, Any], expected: dict[str, Any]) -> None:
    manifest, labels = space.manifest(step["manifest"])
    assert manifest.media_type == expected["mediaType"]
    assert [each.media_type for each in manifest.layers] == expected["layers"]
    assert labels == expected["labels"]


def _absent(space: Workspace, digests: Digests, step: dict[str, Any], expected: dict[str, Any]) -> None:
    assert not [path for path in step["absent"] if (space.directory / path).exists()]


_STEPS: dict[str, Callable[[Workspace, Digests, dict[str, Any], dict[str, Any]], None]] = {
    "run": _run,
    "write": _write,
    "push": _push,
    "read": _read,
    "tar": _tar,
    "manifest": _manifest,
    "absent": _absent,
}


@pytest.mark.parametrize("name", _VALIDATE)
def test_validate_answers_as_recorded(space: Workspace, name: str) -> None:
    case = recorded("validate", space.registry)[name]
    space.write(case["files"] or {}, "bundle")
    Path("bundle").mkdir(exist_ok=True)
    for pushed, files in case.get("push", {}).items():
        space.push(pushed, files)
    arguments = [each.replace("@BUNDLE@", "bundle") for each in case.get("args", [])]
    found = space.run("validate", "bundle", *arguments, "--output-format", "json")
    expected = case["expect"]
    assert (found.code == 0) == expected["valid"] == found.json["Valid"]
    if expected.get("codes") != "any":
        assert _pairs(found.json["Errors"]) == finding_pairs(expected["errors"])
        assert _pairs(found.json["Warnings"]) == finding_pairs(expected["warnings"])


def _pairs(findings: list[dict[str, str]] | None) -> set[tuple[str, str]]:
    return {(each["Code"], each["Path"]) for each in findings or []}


@pytest.mark.parametrize("name", _DIFF)
def test_diff_answers_as_recorded(bare: Workspace, name: str) -> None:
    case = _DIFF[name]
    for side in ("old", "new"):
        bare.write(case[side], side)
    for sibling, files in case.get("siblings", {}).items():
        bare.write(files, sibling)
    found = bare.run("diff", "old", "new", *case.get("args", []), "--output-format", "json")
    assert (found.code == 0) == (case["expect"]["exit"] == 0)
    if "error" in case["expect"]:
        assert found.err.startswith("old contract:")
    else:
        assert comparable_difference(found.json) == comparable_difference(case["expect"])


@pytest.mark.parametrize("case", _SEMVER, ids=lambda case: f"{case['constraint']} of {' '.join(case['tags'])}")
def test_a_dependency_is_the_recorded_tag(space: Workspace, case: dict[str, Any]) -> None:
    for tag in case["tags"]:
        space.push(f"s/weir:{tag}", {"pacto.yaml": f'pactoVersion: "1.0"\nservice: {{name: weir, version: "{tag}"}}\n'})
    needs = [{"name": "weir", "ref": f"oci://{space.registry}/s/weir", "compatibility": case["constraint"]}]
    contract = {"pactoVersion": "1.0", "service": {"name": "mill", "version": "1.0.0"}, "dependencies": needs}
    space.write({"mill/pacto.yaml": json.dumps(contract)})
    (edge,) = space.run("graph", "mill", "-o", "json").json["root"]["dependencies"]
    assert edge.get("node", {}).get("version") == case["expect"]
