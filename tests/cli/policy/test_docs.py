"""docs/policy.md: its tables are what the code has, and its commands were tried."""

from __future__ import annotations

import re
import shlex
import time
from pathlib import Path

import msgspec
import pytest

from homeostat.objects import yaml
from homeostat.objects.json import JsonObject
from homeostat.objects.yaml.document import Document
from homeostat.operators.policy.document import policy_document
from homeostat.operators.policy.engine.check import CHECKS
from homeostat.operators.policy.spec import PolicySpec
from tests.cli.running import Cli, Up
from tests.docs.documents import EXAMPLES, table_rows, text_of
from tests.operators.policy.inspecting import inspect

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


def test_every_check_comes_of_the_field_that_is_documented() -> None:
    told = {row[0]: row[1] for row in table_rows(TEXT, "| check | field | finds | weight | severity |")}
    switches = {
        each for each in PolicySpec.__struct_encode_fields__ if re.match("forbid|require|max|min|allowed", each)
    }
    assert set(told.values()) == switches


CONTAINER: JsonObject = {"name": "main", "image": "a:1"}


def judged(kind: str, pod: JsonObject) -> list[str]:
    """What the policy that is shown finds of a Job, or of another workload."""
    (shown,) = re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    spec = msgspec.convert(yaml.load(shown.encode()), PolicySpec)
    spec = msgspec.structs.replace(spec, require_liveness_probe=True)
    version = "batch/v1" if kind == "Job" else "apps/v1"
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": {"template": {"spec": pod}}}
    report = inspect([Document("a.yaml", body)], [policy_document("", "shown", spec)], now=0.0)
    return [each.type for each in report.entries]


def test_the_policy_that_is_shown_does_as_documented() -> None:
    assert judged("Job", {"containers": [CONTAINER]}) == []
    assert judged("Deployment", {"containers": [CONTAINER], "initContainers": [CONTAINER]}) == ["missing_liveness"]
    privileged = {**CONTAINER, "securityContext": {"privileged": True}}
    assert judged("Job", {"containers": [CONTAINER], "initContainers": [privileged]}) == ["init-privileged"]


@pytest.mark.parametrize("command", commands_of("What is checked") + commands_of("In CI"), ids=" ".join)
def test_commands_without_a_cluster_do_as_documented(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(EXAMPLES / "policy-ci")
    done = cli.here(*command)
    assert done.code in (0, 1), done.err
    assert done.err == ""


def test_commands_on_a_plane_do_as_documented(up: Up, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES / "policy-live")
    until = time.monotonic() + 30
    # A plane that has just begun gets the kinds of its operators one after the other.
    while up.cli.here("get", "cdop").code and time.monotonic() < until:
        time.sleep(0.05)
    for command in commands_of("Live") + commands_of("Policies as files"):
        if "watch" in command:
            continue
        done = up.cli.here(*command)
        assert done.code == 0, (command, done.err)


def test_the_mode_is_shown_also_where_the_policy_does_not_say_it(up: Up, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES / "policy-live")
    until = time.monotonic() + 30
    while up.cli.here("apply", "-f", "pods.yaml", "-f", "policies/depot.yaml").code and time.monotonic() < until:
        time.sleep(0.05)
    while not (rows := up.cli.here("get", "dop", "-n", "depot").rows)[1:] or "audit" not in rows[1]:
        assert time.monotonic() < until, rows
        time.sleep(0.05)
    assert rows[1][rows[0].index("MODE")] == "audit"


def test_manifests_for_a_cluster_are_printed_as_documented(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = commands_of("In a cluster")
    assert len(commands) == 6
    for command in commands:
        done = cli.here(*command)
        assert done.code == 0, (command, done.err)
