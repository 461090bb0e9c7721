"""docs/policy.md: its tables are what the code has, and its commands were tried."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from homeostat.operators.policy.check import CHECKS
from homeostat.operators.policy.spec import PolicySpec
from tests.cli.running import Cli, Up
from tests.docs.documents import EXAMPLES, table_rows, text_of

TEXT = text_of("docs/policy.md")
_sections = re.compile(r"^## (.+)$", re.MULTILINE)


def commands_of(section: str) -> list[list[str]]:
    """The commands of a section's blocks that need nothing but `homeostat`."""
    parts = _sections.split(TEXT)
    body = parts[parts.index(section) + 1]
    blocks = re.findall(r"^```sh\n(.*?)^```$", body, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("homeostat ")]
    return [shlex.split(line.partition(" > ")[0].partition(" | ")[0])[1:] for line in lines]


def test_the_table_of_checks_is_the_one_of_the_code() -> None:
    told = list(table_rows(TEXT, "| check | field | finds | weight | severity |"))
    assert [(row[0], row[3], row[4]) for row in told] == [
        (each.type, str(each.weight), each.severity) for each in CHECKS
    ]
    assert {row[1] for row in told} <= set(PolicySpec.__struct_encode_fields__)


def test_every_check_comes_of_the_field_that_is_told() -> None:
    told = {row[0]: row[1] for row in table_rows(TEXT, "| check | field | finds | weight | severity |")}
    switches = {
        each for each in PolicySpec.__struct_encode_fields__ if re.match("forbid|require|max|min|allowed", each)
    }
    assert set(told.values()) == switches


@pytest.mark.parametrize("command", commands_of("What is checked") + commands_of("In CI"), ids=" ".join)
def test_commands_without_a_cluster_do_as_told(cli: Cli, monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    monkeypatch.chdir(EXAMPLES / "policy-ci")
    done = cli.here(*command)
    assert done.code in (0, 1), done.err
    assert done.err == ""


def test_commands_on_a_plane_do_as_told(up: Up, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES / "policy-live")
    for command in commands_of("Live") + commands_of("Policies as files"):
        if "watch" in command:
            continue
        done = up.cli.here(*command)
        assert done.code == 0, (command, done.err)


def test_manifests_for_a_cluster_are_printed_as_told(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = commands_of("In a cluster")
    assert len(commands) == 4
    for command in commands:
        done = cli.here(*command)
        assert done.code == 0, (command, done.err)
