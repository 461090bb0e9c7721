"""The commands and files of docs/actions.md do what it says."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from homeostat.external.secrets.stores import EnvironmentStore, SecretStore
from homeostat.objects import yaml
from homeostat.operators.actions.api import Keep, ResourceTypeSpec
from homeostat.operators.actions.plugins.catalog import ACTIONS
from homeostat.operators.actions.plugins.command import CommandConfig
from homeostat.operators.actions.settings import ActionSettings
from tests.cli.running import Cli, make_cli, running
from tests.cli.shelf import serving_shelf, text_of
from tests.docs.documents import table_rows
from tests.docs.documents import text_of as document
from tests.external.fake_github import TOKEN as GITHUB_TOKEN
from tests.external.fake_gitlab import TOKEN as GITLAB_TOKEN
from tests.needs import needs_terraform
from tests.operators.actions.plugins.test_github_actions import Town as GitHubTown
from tests.operators.actions.plugins.test_gitlab_ci import Town as GitLabTown
from tests.operators.actions.real_plugin import HostedLife

_TEXT = document("docs/actions.md")
_fences = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_named = re.compile(r"# (\S+\.(?:yaml|py))\n")


def _configs() -> dict[str, Any]:
    """The example of each plugin, by its name."""
    found = [yaml.load(code.encode()) for language, code in _fences.findall(_TEXT) if language == "yaml"]
    return {each["plugin"]: each["config"] for each in found if "plugin" in each}


def _type(plugin: str, config: Any) -> dict[str, Any]:
    spec = {"name": "Database", "action": {"plugin": plugin, "config": config}}
    head = {"apiVersion": "homeostat.dev/v1alpha1", "kind": "ResourceType", "metadata": {"name": "database"}}
    return {**head, "spec": spec}


def _database(name: str) -> dict[str, Any]:
    head = {"apiVersion": "resources.homeostat.dev/v1", "kind": "Database", "metadata": {"name": name}}
    return {**head, "spec": {"size": 3}}


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    own = make_cli(tmp_path / "data")
    cli = Cli({**own.environment, "HOMEOSTAT_SECRET_API_TOKEN": "a-very-secret-token"})
    with running(cli, "--allow-programs"):
        yield cli


def _section(title: str) -> str:
    return _TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_first_type_lives_as_documented(cli: Cli, tmp_path: Path) -> None:
    commands: list[str] = []
    for language, code in _fences.findall(_section("A first type")):
        here = code.replace("/tmp", str(tmp_path))
        if language == "sh":
            commands += here.splitlines()
        elif found := _named.match(here):
            (tmp_path / found[1]).write_text(here)
    commands = [each.partition("  #")[0] for each in commands if not each.startswith("homeostat up")]
    assert len(commands) == 10
    for each in commands:
        program, *words = shlex.split(each)
        if program == "echo":
            Path(words[-1]).write_text("tampered")
            continue
        words = [str(tmp_path / word) if word.endswith(".yaml") else word for word in words]
        done = cli(*words)
        assert done.code == 0, (each, done.err)
        if words[:2] == ["resource", "reconcile"]:
            assert (tmp_path / "note-hello").read_text() == "hello!"
    assert not (tmp_path / "note-hello").exists()


@pytest.mark.parametrize(
    "plugin",
    ["http", pytest.param("terraform", marks=needs_terraform)],
)
def test_the_example_keeps_a_resource(cli: Cli, plugin: str) -> None:
    with serving_shelf() as shelf:
        config = msgspec.json.encode(_configs()[plugin]).replace(b"https://api.example.com/v1", shelf.url.encode())
        objects = text_of(_type(plugin, msgspec.json.decode(config)), _database("orders"))
        applied = cli("resource", "apply", "-f", "-", "--wait", "--timeout", "28", stdin=objects)
        assert applied.code == 0, applied.err
        planned = cli("plan", "-f", "-", "--allow-programs", "--detailed-exitcode", stdin=objects)
        assert planned.code == 0, planned.out
        assert (plugin == "http") == (shelf.items.get("orders") == {"name": "orders", "size": 3})
        assert cli("resource", "delete", "database/orders", "--wait", "--timeout", "28").code == 0


def _life(runner: asyncio.Runner, town: GitHubTown | GitLabTown, plugin: str, **secrets: str) -> list[str]:
    """What was started for a resource from its creation to its end."""
    stores: dict[str, SecretStore] = {"env": EnvironmentStore(secrets, "")}
    life = HostedLife(runner, town.make, _configs()[plugin], stores=stores)
    life.settle()
    life.delete()
    life.settle()
    town.close()
    assert life.is_gone
    return town.started


def test_the_example_starts_workflows() -> None:
    with asyncio.Runner() as runner:
        town = GitHubTown(runner)
        assert _life(runner, town, "github_actions", GITHUB=GITHUB_TOKEN) == ["apply.yml", "destroy.yml"]


def test_the_example_starts_pipelines() -> None:
    with asyncio.Runner() as runner:
        town = GitLabTown(runner)
        assert _life(runner, town, "gitlab_ci", GITLAB=GITLAB_TOKEN) == ["apply", "destroy"]


def test_there_is_an_example_of_each_plugin() -> None:
    assert _configs().keys() == ACTIONS.keys()
    msgspec.convert(_configs()["command"], CommandConfig)


def test_every_field_of_types_is_documented_with_its_default() -> None:
    rows = list(table_rows(_TEXT, "| field of `spec` | what | default |"))
    told = {name for names, _, _ in rows for name in re.findall(r"\w+", names)}
    assert told == {each.encode_name for each in msgspec.structs.fields(ResourceTypeSpec)}
    defaults = {names: default for names, _, default in rows}
    usual = ActionSettings()
    assert defaults["intervalSeconds"] == f"{usual.interval_s:g}"
    assert defaults["retry"] == f"{usual.delays.base_s:g}, {usual.delays.max_s:g}, {usual.delays.jitter:g}"
    assert defaults["history"] == f"{Keep().entries}, {Keep().max_age_days}"
