"""`homeostat sync plan`, `apply-plan` and `prune`: what they print, send and keep, and their exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from homeostat.operators.sync.run.record import decode_record
from tests.operators.sync.cases import Case, Rest, rest_server

J = json.dumps
_STORE = {
    "secretStore": {
        "file": {"path": "$ROOT/s.json", "passphrase": "pp-1234", "kdf": {"time": 1, "memory": 64, "threads": 1}}
    }
}


@pytest.fixture(scope="module")
def rest() -> Iterator[Rest]:
    with rest_server() as server:
        yield server


class Commands:
    """A context in a directory, and its commands one after the other."""

    def __init__(self, root: Path, rest: Rest, case: dict[str, Any]) -> None:
        self.case, self.rest, self.root = Case(case, root, rest), rest, root
        self.case.prepare()

    def write(self, files: dict[str, Any]) -> None:
        self.case.write(self.case.repo, files)

    def run(self, *words: str) -> tuple[int, str]:
        self.rest.call("DELETE", "/_/requests")
        code, out, err = self.case.invoke({"args": list(words)})
        return code, (out + err).decode()

    @property
    def writes(self) -> list[str]:
        log = self.rest.call("GET", "/_/requests")
        return [f"{each['method']} {each['path']}" for each in log if each["method"] != "GET"]


@pytest.fixture
def commands(tmp_path: Path, rest: Rest, monkeypatch: pytest.MonkeyPatch) -> Commands:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    files = {"t/a/resource.json": J({"id": "a", "v": 1, "pw": "{{secret .}}"}), "t/b/resource.json": J({"id": "b"})}
    state = {"collections": {"/t": {}}, "objects": {"/t/x": {"id": "x"}}}
    found = Commands(tmp_path, rest, {"context": _STORE, "files": files, "server": state})
    assert found.run("secret", "set", "/t/a:/pw", "top-secret-1")[0] == 0
    return found


def test_a_plan_is_shown_saved_carried_out_and_then_empty(commands: Commands) -> None:
    code, text = commands.run("plan", "/t", "-r", "-o", "text", "--out", "p.json")
    assert code == 7
    assert commands.writes == []
    assert "+ /v: 1" in text
    assert "Plan of /t (full): 2 to create." in text
    assert "top-secret-1" not in text + (commands.root / "p.json").read_text()
    code, text = commands.run("apply-plan", "p.json", "-o", "text")
    assert (code, commands.writes) == (0, ["POST /t", "POST /t"])
    assert "2 created." in text
    assert commands.run("plan", "/t", "-r", "-o", "text")[0] == 0


def test_a_plan_is_refused_when_files_or_objects_changed(commands: Commands) -> None:
    commands.run("plan", "/t", "-r", "--out", "p.json")
    commands.write({"t/b/resource.json": J({"id": "b", "v": 2})})
    code, text = commands.run("apply-plan", "p.json")
    assert (code, commands.writes) == (5, [])
    assert "changed since the plan was made: /t/b; make a new plan" in text
    commands.run("plan", "/t", "-r", "--out", "p.json")
    commands.rest.call("PUT", "/_/objects/t/b", {"id": "b"})
    assert commands.run("apply-plan", "p.json")[0] == 5
    (commands.root / "p.json").write_text("{}")
    assert commands.run("apply-plan", "p.json")[0] == 2


def test_changes_that_verbs_or_windows_forbid_are_held(commands: Commands) -> None:
    commands.rest.call("PUT", "/_/objects/t/b", {"id": "b"})
    commands.write({"t/b/resource.json": J({"id": "b", "v": 2})})
    code, text = commands.run("plan", "/t", "-r", "--verb", "create", "-o", "text", "--out", "p.json")
    assert code == 7
    assert "update     /t/b (held: verb update is not allowed; allowed: create)" in text
    code, text = commands.run("apply-plan", "p.json")
    assert (code, commands.writes) == (5, ["POST /t"])
    for words in (("--deny-windows", "2020-01-01..2090-01-01"), ("--allow-windows", "2020-01-01..2020-01-02")):
        code, text = commands.run("plan", "/t", "-r", *words, "-o", "text", "--out", "p.json")
        assert "Nothing would be changed: " in text
        assert (commands.run("apply-plan", "p.json")[0], commands.writes) == (5, [])
    code, text = commands.run("plan", "/t", "-r", "--deny-windows", "some day")
    assert (code, "some day" in text) == (2, True)


def test_a_plan_of_nothing_or_with_a_pattern_that_protects_nothing_is_refused(commands: Commands) -> None:
    code, text = commands.run("plan", "/none", "-r")
    assert (code, "/none" in text) == (3, True)
    for name in ("plan", "prune"):
        assert commands.run(name, "/t", "--protect", "/t/[a")[0] == 2
        assert commands.run(name, "/t", "--protect", "t/a")[0] == 2


def test_prune_lists_and_then_deletes_what_commands_created(commands: Commands) -> None:
    assert commands.run("resource", "apply", "/t", "-r")[0] == 0
    commands.write({"t/b/resource.json": None})
    code, text = commands.run("prune", "/t", "-o", "text")
    assert (code, commands.writes) == (7, [])
    assert "delete     /t/b" in text
    code, text = commands.run("prune", "/t", "--yes", "--protect", "/t/b", "-o", "text")
    assert (code, commands.writes) == (5, [])
    code, text = commands.run("prune", "/t", "--yes", "-o", "text")
    assert (code, commands.writes) == (0, ["DELETE /t/b"])
    assert commands.run("prune", "/t", "--yes")[0] == 0
    (record,) = (commands.root / ".local/state/homeostat/sync").glob("test-*.record")
    assert record.stat().st_mode & 0o777 == 0o600
    kept = record.read_bytes()
    assert decode_record(kept).owned.keys() == {"/t/a"}


def test_prune_refuses_many_deletions_without_force(commands: Commands) -> None:
    commands.write({f"t/n{number}/resource.json": J({"id": f"n{number}"}) for number in range(8)})
    commands.run("resource", "apply", "/t", "-r")
    commands.write({f"t/n{number}/resource.json": None for number in range(8)})
    code, text = commands.run("prune", "/t", "--yes", "-o", "text")
    assert (code, commands.writes) == (5, [])
    assert "80 % of 10 owned objects" in text
    code, text = commands.run("prune", "/t", "--yes", "--force")
    assert (code, len(commands.writes)) == (0, 8)


def test_markdown_survives_hostile_values(commands: Commands) -> None:
    value = {"id": "a", "text": "```\n</details><script>", "pw": "{{secret .}}"}
    commands.write({"t/a/resource.json": J(value), "t/b/resource.json": "{"})
    code, text = commands.run("plan", "/t", "-r", "-o", "markdown")
    assert code == 2
    assert "````diff" in text
    assert "**unknown** `/t/b`" in text


def test_a_plan_distinguishes_unreachable_from_drifted(commands: Commands) -> None:
    fault = {"method": "GET", "path": "/t", "status": 500, "times": 9}
    one = {"method": "GET", "path": "/t/a", "status": 500, "times": 9}
    commands.rest.call("PUT", "/_/faults", [fault, one])
    code, text = commands.run("plan", "/t", "-r", "-o", "text")
    assert code == 6
    assert "unknown    /t/a" in text
    assert "create     /t/b" in text
    assert "top-secret-1" not in text


def test_a_plan_as_json_names_each_action(commands: Commands) -> None:
    commands.rest.call("PUT", "/_/objects/t/b", {"id": "b"})
    code, text = commands.run("plan", "/t", "-r", "-o", "json", "--skip-result-message", "--ignore-warnings")
    plan = json.loads(text)
    assert {each["path"]: each["action"] for each in plan["steps"]} == {"/t/a": "create", "/t/b": "unchanged"}
    assert plan["steps"][0]["differences"][0]["local"] == {"id": "a", "v": 1, "pw": "***"}
    assert code == 7
