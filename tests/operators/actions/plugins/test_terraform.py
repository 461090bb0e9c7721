"""A real Terraform keeps what is declared, and its state outlives the machine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from homeostat.operators.actions.plugins.plugin import ActionError
from homeostat.operators.actions.plugins.terraform import TerraformPlugin
from homeostat.operators.actions.plugins.terraform_state import newer_state
from tests.needs import needs_terraform
from tests.operators.actions.jobs import Desk, tools

MAIN = """
variable "text" { type = string }
variable "password" {
  type = string
  default = "quite-a-secret"
  sensitive = true
}
resource "terraform_data" "note" { input = var.text }
output "text" { value = terraform_data.note.output }
output "password" {
  value = var.password
  sensitive = true
}
"""


def desk(tmp_path: Path, main: str = MAIN, **more: Any) -> Desk:
    return Desk(TerraformPlugin(tools()), {"files": {"main.tf": main}, **more}, tmp_path / "work")


def plugin(desk: Desk) -> TerraformPlugin:
    assert isinstance(desk.plugin, TerraformPlugin)
    return desk.plugin


@needs_terraform
async def test_a_whole_life(tmp_path: Path) -> None:
    here = desk(tmp_path)
    plan = await plugin(here).plan(here.job({"text": "one"}))
    assert (plan.is_changed, plan.changes.created) == (True, 1)
    assert "Plan: 1 to add" in plan.output

    outcome = await plugin(here).apply(here.job({"text": "one"}, "apply"))
    assert (outcome.outputs, outcome.changes.created) == ({"text": "one"}, 1)
    assert outcome.message == "1 sensitive outputs are stored only in the Terraform state"
    assert here.secrets.scrub("it is quite-a-secret") == "it is ***"
    assert json.loads(here.state.data)["resources"]
    assert any("Apply complete! Resources: 1 added" in each for each in here.echoed)
    assert "quite-a-secret" not in str(here.echoed)

    # Another machine has nothing but what the plane keeps.
    shutil.rmtree(tmp_path / "work")
    assert (await plugin(here).plan(here.job({"text": "one"}))).is_changed is False
    assert (await plugin(here).plan(here.job({"text": "two"}))).changes.updated == 1

    destroyed = await plugin(here).destroy(here.job({"text": "one"}, "destroy"))
    assert destroyed.changes.deleted == 1
    assert here.state.data == b""
    assert not (tmp_path / "work").exists()


@needs_terraform
async def test_an_apply_that_was_cut_off_continues_from_what_it_left(tmp_path: Path) -> None:
    here = desk(tmp_path)
    await plugin(here).apply(here.job({"text": "one"}, "apply"))
    here.state.data = b""
    assert (await plugin(here).plan(here.job({"text": "one"}))).is_changed is False


@needs_terraform
async def test_what_a_failed_apply_made_is_kept(tmp_path: Path) -> None:
    fails = MAIN + '\nresource "terraform_data" "bad" {\n  input = terraform_data.note.id\n'
    fails += '  lifecycle {\n    postcondition {\n      condition = self.input == "x"\n'
    fails += '      error_message = "this never holds"\n    }\n  }\n}\n'
    here = desk(tmp_path, fails)
    with pytest.raises(ActionError, match=r"apply: .*postcondition"):
        await plugin(here).apply(here.job({"text": "one"}, "apply"))
    assert json.loads(here.state.data)["resources"]


@needs_terraform
async def test_a_mistake_in_the_files_is_reported(tmp_path: Path) -> None:
    here = desk(tmp_path, "resource {")
    with pytest.raises(ActionError, match="init: "):
        await plugin(here).plan(here.job({}))


@pytest.mark.parametrize("name", ["/etc/passwd", "../outside.tf", ".terraform/x"])
async def test_files_stay_in_the_directory(tmp_path: Path, name: str) -> None:
    here = Desk(TerraformPlugin(tools()), {"files": {name: ""}}, tmp_path / "work")
    with pytest.raises(ActionError, match="must be a relative path inside the directory"):
        await plugin(here).plan(here.job({}))


async def test_without_a_program_it_says_so(tmp_path: Path) -> None:
    here = Desk(TerraformPlugin(tools(PATH="/nowhere")), {"files": {"main.tf": ""}}, tmp_path / "work")
    with pytest.raises(ActionError, match="no terraform and no tofu in PATH"):
        await plugin(here).plan(here.job({}))


async def test_a_failure_that_is_cut_shows_no_half_of_a_secret(tmp_path: Path) -> None:
    program = tmp_path / "terraform"
    program.write_text('#!/bin/sh\necho "$TOKEN$(printf %990s)" | tr " " x >&2; exit 1\n')
    program.chmod(0o755)
    config = {"files": {"main.tf": ""}, "program": str(program), "environment": {"TOKEN": {"key": "TOKEN"}}}
    here = Desk(TerraformPlugin(tools()), config, tmp_path / "work", TOKEN="a-very-secret-token")
    with pytest.raises(ActionError, match="init: ") as error:
        await plugin(here).plan(here.job({}))
    assert "token" not in str(error.value)


def state(lineage: str, serial: int) -> bytes:
    return json.dumps({"version": 4, "lineage": lineage, "serial": serial}).encode()


@pytest.mark.parametrize(
    ("kept", "here", "expected"),
    [
        pytest.param(b"", b"", b"", id="none"),
        pytest.param(state("a", 1), b"", state("a", 1), id="kept"),
        pytest.param(b"", state("a", 1), state("a", 1), id="only-here"),
        pytest.param(state("a", 1), state("a", 2), state("a", 2), id="here-is-ahead"),
        pytest.param(state("a", 3), state("a", 2), state("a", 3), id="here-is-behind"),
        pytest.param(state("a", 1), state("b", 9), state("a", 1), id="another-state"),
        pytest.param(state("a", 1), b"{half", state("a", 1), id="half-written"),
    ],
)
def test_the_newer_state_counts(kept: bytes, here: bytes, expected: bytes) -> None:
    assert newer_state(kept, here) == expected
