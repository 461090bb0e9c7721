"""`homeostat edit` sends the changes of an editor, and loses none."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from homeostat.objects.json import JsonObject
from homeostat.objects.patch.json import merge_patch, patch_between
from tests.cli.running import Cli, Ended, Up

MAP = '{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, data: {mode: "1", other: a}}'


@pytest.fixture
def edited(up: Up, request: pytest.FixtureRequest) -> str:
    """The name of a ConfigMap of its own."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:60].strip("-")
    up.cli.here("apply", "-f", "-", stdin=MAP.replace("NAME", name))
    return name


def edit(up: Up, name: str, tmp_path: Path, *steps: str, kind: str = "cm") -> Ended:
    """Each step is a shell command for one time the editor is opened, with the file as its argument."""
    for number, step in enumerate(steps, 1):
        (tmp_path / f"step-{number}").write_text(step)
    script = tmp_path / "editor"
    script.write_text(
        f'#!/bin/sh\nset -e\ncd {tmp_path}\necho >> count\ncp "$1" shown-$(wc -l < count)\n. ./step-$(wc -l < count)\n'
    )
    script.chmod(0o755)
    environment = {**up.cli.environment, "EDITOR": str(script), "TMPDIR": str(tmp_path)}
    return replace(up.cli, environment=environment)("edit", kind, name)


def mode_of(cli: Cli, name: str) -> str:
    return cli.here("get", "cm", name, "-o", "jsonpath={.data.mode}").out


def leftovers(tmp_path: Path) -> list[Path]:
    return [*tmp_path.glob("homeostat-edit-*")]


def test_a_change_is_sent(up: Up, edited: str, tmp_path: Path) -> None:
    ended = edit(up, edited, tmp_path, """sed -i 's/mode: "1"/mode: "2"/' "$1" """)
    assert (ended.code, ended.out, ended.err) == (0, f"configmap/{edited} edited\n", "")
    assert mode_of(up.cli, edited) == "2"
    assert leftovers(tmp_path) == []
    assert "managedFields" not in (tmp_path / "shown-1").read_text()


@pytest.mark.parametrize(
    ("step", "reason"),
    [(":", "nothing was changed"), (': > "$1"', "the file is empty"), ('echo "# a" >> "$1"', "nothing was changed")],
)
def test_an_edit_without_a_change_is_cancelled(up: Up, edited: str, tmp_path: Path, step: str, reason: str) -> None:
    ended = edit(up, edited, tmp_path, step)
    assert (ended.code, ended.out) == (0, "")
    assert f"edit cancelled: {reason}" in ended.err
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(
    ("breaking", "mending", "reason"),
    [
        ("s/^data:/dta:/", "s/^dta:/data:/", 'strict decoding error: unknown field "dta"'),
        ("s/^data:/data: [/", "s/^data: \\[/data:/", ""),
        ("s/^  name: .*/  name: other/", "s/^  name: .*/  name: NAME/", "metadata.name must stay"),
    ],
    ids=["refused", "not YAML", "another name"],
)
def test_a_refused_change_is_opened_again_with_the_reason(
    up: Up, edited: str, tmp_path: Path, breaking: str, mending: str, reason: str
) -> None:
    change = f"""sed -i 's/mode: "1"/mode: "3"/; {breaking}' "$1" """
    mend = f"""sed -i '{mending.replace("NAME", edited)}' "$1" """
    ended = edit(up, edited, tmp_path, change, mend)
    assert (ended.code, ended.out) == (0, f"configmap/{edited} edited\n")
    again = (tmp_path / "shown-2").read_text()
    (error,) = (line for line in again.splitlines() if line.startswith("# error: "))
    assert reason in error
    assert 'mode: "3"' in again
    assert mode_of(up.cli, edited) == "3"


def test_a_change_that_stays_invalid_is_kept_in_a_file(up: Up, edited: str, tmp_path: Path) -> None:
    ended = edit(up, edited, tmp_path, """sed -i 's/^data:/dta:/' "$1" """, ":")
    assert (ended.code, ended.out) == (1, "")
    (kept,) = leftovers(tmp_path)
    assert f"your text is in {kept}/object.yaml" in ended.err
    assert "dta:" in (kept / "object.yaml").read_text()


def test_a_change_of_somebody_else_is_merged(up: Up, edited: str, tmp_path: Path) -> None:
    other = f"""sed -i 's/mode: "1"/mode: "4"/' "$1"
echo '{MAP.replace("NAME", edited).replace("other: a", "other: b")}' | {up.cli.program} apply -f - """
    ended = edit(up, edited, tmp_path, other, ":")
    assert ended.code == 0
    again = (tmp_path / "shown-2").read_text()
    assert "# error: the object was changed meanwhile" in again
    assert 'mode: "4"' in again
    assert "other: b" in again
    assert up.cli.here("get", "cm", edited, "-o", "jsonpath={.data}").out == '{"mode":"4","other":"b"}'


def test_a_status_that_is_written_meanwhile_refuses_no_edit(up: Up, tmp_path: Path) -> None:
    spec = "spec: {selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}"
    up.cli.here(
        "apply", "-f", "-", stdin=f"{{apiVersion: v1, kind: ReplicationController, metadata: {{name: rc}}, {spec}}}"
    )
    patch = f"""{up.cli.program} patch rc rc --subresource status -p '{{"status":{{"replicas":3}}}}'"""
    ended = edit(up, "rc", tmp_path, f"""sed -i 's/replicas: 1/replicas: 2/' "$1"; {patch}""", kind="rc")
    assert (ended.code, ended.err) == (0, "")
    found = up.cli.here("get", "rc", "rc", "-o", "jsonpath={.spec.replicas} {.status.replicas}").out
    assert (found, (tmp_path / "count").read_text()) == ("2 3", "\n")


def test_an_object_that_was_deleted_meanwhile_loses_no_text(up: Up, edited: str, tmp_path: Path) -> None:
    delete = f"""sed -i 's/mode: "1"/mode: "5"/' "$1"; {up.cli.program} delete cm {edited}"""
    ended = edit(up, edited, tmp_path, delete)
    assert ended.code == 1
    assert 'not found in namespace "default"; your text is in' in ended.err


@pytest.mark.parametrize(("editor", "words"), [("/no/such", "name another with EDITOR"), ("false", "exit code 1")])
def test_an_editor_that_fails_is_named(up: Up, edited: str, tmp_path: Path, editor: str, words: str) -> None:
    environment = {**up.cli.environment, "EDITOR": editor, "TMPDIR": str(tmp_path)}
    ended = replace(up.cli, environment=environment)("edit", "cm", edited)
    assert ended.code == 1
    assert words in ended.err
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"a": True}, {"a": True}),
        ({"a": 1, "b": 2}, {"a": 1}, {"b": None}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "d": 3}}, {"a": {"c": None, "d": 3}}),
        ({"a": [1, 2]}, {"a": [1]}, {"a": [1]}),
        ({"a": {"b": 1}}, {"a": None}, {"a": None}),
        ({}, {"a": {"b": {}}}, {"a": {"b": {}}}),
    ],
)
def test_a_patch_makes_the_second_object_of_the_first(before: JsonObject, after: JsonObject, patch: JsonObject) -> None:
    assert patch_between(before, after) == patch
    wanted = {key: value for key, value in after.items() if value is not None}
    assert merge_patch(before, patch) == wanted
