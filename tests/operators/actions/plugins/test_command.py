"""Programs of one's own keep resources: real ones, that answer in JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from homeostat.external.process import ProgramTimeoutError, locked
from homeostat.objects.decision import Wait
from homeostat.operators.actions.plugins.command import CommandPlugin
from homeostat.operators.actions.plugins.plugin import ActionError
from homeostat.operators.actions.plugins.work_directory import LOCK
from tests.operators.actions.jobs import Desk, tools

PROGRAM = """
import json, os, sys
asked = json.load(sys.stdin)
print("working on", asked["name"], file=sys.stderr)
wanted = asked["spec"].get("text")
held = open("note").read() if os.path.exists("note") else None
match asked["purpose"]:
    case "plan":
        answer = {"changed": held != wanted, "updated": 1, "message": f"{held} becomes {wanted}"}
    case "apply":
        open("note", "w").write(wanted)
        condition = {"type": "Written", "status": "True", "reason": "Written", "message": ""}
        answer = {"outputs": {"size": len(wanted)}, "updated": 1, "conditions": [condition]}
    case "destroy":
        if held is not None:
            os.remove("note")
        answer = {"deleted": 1}
print(json.dumps(answer))
"""


def desk(tmp_path: Path, code: str = PROGRAM, **more: Any) -> Desk:
    program = tmp_path / "program.py"
    program.write_text(code)
    run = [sys.executable, str(program)]
    config = {"plan": run, "apply": run, "destroy": run, **more}
    return Desk(CommandPlugin(tools()), config, tmp_path / "work", TOKEN="a-very-secret-token")


def plugin(desk: Desk) -> CommandPlugin:
    assert isinstance(desk.plugin, CommandPlugin)
    return desk.plugin


async def test_a_program_plans_applies_and_destroys(tmp_path: Path) -> None:
    here = desk(tmp_path)
    plan = await plugin(here).plan(here.job({"text": "hello"}))
    assert (plan.is_changed, plan.changes.updated, plan.output) == (True, 1, "None becomes hello")
    outcome = await plugin(here).apply(here.job({"text": "hello"}, "apply"))
    assert (outcome.outputs, [each.type for each in outcome.conditions]) == ({"size": 5}, ["Written"])
    assert outcome.output == "working on db\n"
    assert here.echoed == ["working on db\n"] * 2
    assert (tmp_path / "work" / "note").read_text() == "hello"
    assert (await plugin(here).plan(here.job({"text": "hello"}))).is_changed is False
    assert (await plugin(here).destroy(here.job({}, "destroy"))).changes.deleted == 1
    assert (await plugin(here).destroy(here.job({}, "destroy"))).is_success


async def test_without_a_plan_what_was_applied_is_unchanged(tmp_path: Path) -> None:
    here = desk(tmp_path, plan=[])
    job = here.job({"text": "hello"})
    assert (await plugin(here).plan(job)).is_changed is True
    here.applied = job.digest
    plan = await plugin(here).plan(here.job({"text": "hello"}))
    assert (plan.is_changed, plan.is_assumed) == (False, True)


async def test_it_gets_all_that_it_may_need(tmp_path: Path) -> None:
    here = desk(tmp_path, "import sys, json; print(json.dumps({'outputs': json.load(sys.stdin)}))")
    told = (await plugin(here).apply(here.job({"a": 1}, "apply"))).outputs
    assert set(told) == {
        *("purpose", "kind", "namespace", "name", "uid", "generation", "digest", "ticket", "isApplied", "spec"),
        "outputs",
    }
    assert (told["spec"], told["ticket"], told["purpose"]) == ({"a": 1}, "u-1-1", "apply")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param("import sys; sys.exit('it cannot be done')", "exit code 1: it cannot be done", id="exit-code"),
        pytest.param("import os; os.abort()", "signal 6", id="signal"),
        pytest.param("print('nonsense')", "is invalid", id="no-json"),
        pytest.param('print(\'{"created": "many"}\')', "is invalid", id="wrong-type"),
    ],
)
async def test_what_went_wrong_is_reported(tmp_path: Path, code: str, expected: str) -> None:
    here = desk(tmp_path, code)
    with pytest.raises(ActionError, match=expected):
        await plugin(here).apply(here.job({}, "apply"))


async def test_what_is_no_answer_is_quoted_from_its_beginning_without_secrets(tmp_path: Path) -> None:
    code = "import os; print('connecting with', os.environ['TOKEN']); print('x' * 100_000)"
    here = desk(tmp_path, code, environment={"TOKEN": {"key": "TOKEN"}})
    with pytest.raises(ActionError) as error:
        await plugin(here).apply(here.job({}, "apply"))
    told = str(error.value)
    assert r'it begins with "connecting with ***\nxxx' in told
    assert "a-very-secret" not in told
    assert told.endswith("print one JSON object to standard output, and logs to standard error")
    assert len(told) < 600


async def test_what_is_no_text_is_no_answer_either(tmp_path: Path) -> None:
    here = desk(tmp_path, r"import sys; sys.stdout.buffer.write(b'\xff\x00\"')")
    with pytest.raises(ActionError, match="is invalid"):
        await plugin(here).apply(here.job({}, "apply"))


async def test_a_plan_must_say_whether_anything_changes(tmp_path: Path) -> None:
    here = desk(tmp_path, "print('{}')")
    with pytest.raises(ActionError, match="changed"):
        await plugin(here).plan(here.job({}))


async def test_secrets_reach_the_program_and_not_the_error(tmp_path: Path) -> None:
    code = "import os, sys; sys.exit('the token is ' + os.environ['TOKEN'])"
    here = desk(tmp_path, code, environment={"TOKEN": {"key": "TOKEN"}})
    with pytest.raises(ActionError) as error:
        await plugin(here).apply(here.job({}, "apply"))
    assert str(error.value) == "exit code 1: the token is ***"


async def test_it_has_a_limit_of_time(tmp_path: Path) -> None:
    here = desk(tmp_path, "import time; time.sleep(60)", timeoutSeconds=1)
    with pytest.raises(ProgramTimeoutError):
        await plugin(here).apply(here.job({}, "apply"))


def test_programs_are_for_resource_types_to_name() -> None:
    assert {"plan", "apply", "destroy", "environment"} <= CommandPlugin.type_only


async def test_while_a_program_is_still_at_work_no_other_is_started(tmp_path: Path) -> None:
    here = desk(tmp_path)
    here.directory.mkdir()
    with locked(here.directory / LOCK, "a program"), pytest.raises(Wait, match="is still running"):
        await plugin(here).apply(here.job({"text": "hello"}, "apply"))
    assert not (here.directory / "note").exists()
