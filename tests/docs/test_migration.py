"""The page for users of no8s-operator: its commands carry data over, and what it names exists."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Iterator
from inspect import getmembers
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from homeostat.cli.policy.deploy import everything as deploy_all
from homeostat.objects import yaml
from homeostat.operators.actions.inputs.plugins.plugin import Desk, Feed, Source
from homeostat.operators.actions.plugins.plugin import Job, Local, Remote, Tools
from homeostat.operators.actions.runs.run import Changes, Outcome
from homeostat.operators.actions.world import Plan
from tests.cli.running import Cli, make_cli, running
from tests.cli.shelf import Shelf, serving_shelf
from tests.docs.documents import ROOT, table_rows, text_of
from tests.postgres import Postgres, find_programs, running_postgres
from tests.processes import path_for_shells

_TEXT = text_of("docs/migrating-from-no8s.md")
_blocks = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_THEIRS = """
CREATE ROLE operator LOGIN PASSWORD 'operator';
CREATE TABLE resources (
    id serial PRIMARY KEY, name varchar(255) UNIQUE, resource_type_name text, resource_type_version text,
    action_plugin varchar(50) NOT NULL, spec jsonb, plugin_config jsonb DEFAULT '{}', metadata jsonb DEFAULT '{}',
    deleted_at timestamp);
CREATE TABLE resource_types (
    id serial PRIMARY KEY, name text, version text, schema jsonb, description text, status text DEFAULT 'active',
    metadata jsonb DEFAULT '{}', UNIQUE (name, version));
GRANT SELECT ON resources, resource_types TO operator;
"""
_TYPE = {
    "id": 4,
    "name": "StorageBox",
    "version": "v1",
    "schema": {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer"}}},
    "description": "Boxes",
    "status": "active",
    "metadata": {},
    "created_at": "2026-01-02T03:04:05.678901",
    "updated_at": "2026-01-02T03:04:05.678901",
}


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


async def _fill(url: str, shelf: Shelf) -> None:
    """A database as they have it: a type, two resources of it, and one that is deleted."""
    connection = await asyncpg.connect(url)
    await connection.execute("CREATE DATABASE operator_controller")
    await connection.close()
    connection = await asyncpg.connect(url, database="operator_controller")
    await connection.execute(_THEIRS)
    kind = "INSERT INTO resource_types (name, version, schema, description) VALUES ($1, $2, $3, $4)"
    await connection.execute(kind, _TYPE["name"], "v1", msgspec.json.encode(_TYPE["schema"]).decode(), "Boxes")
    config = {"url": f"{shelf.url}/boxes", "item": f"{shelf.url}/boxes/${{name}}"}
    config["body"] = {"name": "${name}", "size": "${spec.size}"}  # type: ignore[assignment]
    insert = (
        "INSERT INTO resources (name, resource_type_name, resource_type_version, action_plugin, spec, plugin_config, "
        "metadata, deleted_at) VALUES ($1, 'StorageBox', 'v1', 'http', $2, $3, $4, $5::text::timestamp)"
    )
    for name, size, deleted in (("red", 1, None), ("blue", 2, None), ("old", 3, "2026-01-01")):
        values = ({"size": size}, config, {"team": 'it\'s "ours"'})
        await connection.execute(insert, name, *(msgspec.json.encode(each).decode() for each in values), deleted)
    await connection.close()


@pytest.fixture
def cli(tmp_path: Path, postgres: Postgres) -> Iterator[Cli]:
    own = make_cli(tmp_path / "data")
    server = {"PGPORT": str(postgres.port), "PGPASSWORD": "operator"}
    path = f"{find_programs()}:{path_for_shells()}"
    cli = Cli({**own.environment, **server, "PATH": path})
    with running(cli, "--faces-port", "0"):
        yield cli


def test_types_and_resources_are_carried_over(cli: Cli, postgres: Postgres, tmp_path: Path) -> None:
    with serving_shelf() as shelf, serving_shelf() as theirs:
        theirs.answer = lambda *_: (200, [_TYPE])  # type: ignore[method-assign]
        asyncio.run(_fill(postgres.url, shelf))
        shelf.items["red"] = {"name": "red", "size": 1}
        environment = {**cli.environment, "OLD": theirs.url, "TOKEN": "theirs"}
        for block in _blocks.findall(_TEXT):
            command = ["bash", "-ec", block]
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=50)
            assert done.returncode == 0, done.stdout + done.stderr
        assert shelf.items == {"red": {"name": "red", "size": 1}, "blue": {"name": "blue", "size": 2}}
        assert shelf.writes == 1, "what was as declared was written again"
        shown = cli("resource", "show", "storagebox/red", "-o", "json").json
        assert shown["metadata"]["annotations"]["homeostat.dev/metadata"] == '{"team":"it\'s \\"ours\\""}'
        assert cli("resource", "delete", "storagebox/red", "--wait").code == 0
        assert shelf.items.keys() == {"blue"}, "what was found as declared outlives its resource"


@pytest.mark.parametrize(
    ("word", "owner"), [("job", Job), ("tools", Tools), ("desk", Desk)], ids=["job", "tools", "desk"]
)
def test_every_member_named_is_there(word: str, owner: type) -> None:
    named = set(re.findall(rf"`{word}\.(\w+)", _TEXT))
    there = {name for name, _ in getmembers(owner)} | set(getattr(owner, "__dataclass_fields__", ()))
    assert named
    assert named <= there


@pytest.mark.parametrize(
    ("owner", "named"),
    [
        (Plan, {"is_changed", "changes", "output", "again_after_seconds"}),
        (Outcome, {"is_success", "outputs", "output", "message", "conditions", "again_after_seconds"}),
        (Changes, {"created", "updated", "deleted"}),
        (Local, {"plan", "apply", "destroy"}),
        (Remote, {"start", "follow"}),
        (Source, {"read"}),
        (Feed, {"feed"}),
    ],
    ids=lambda each: each.__name__ if isinstance(each, type) else "",
)
def test_what_is_documented_of_ours_exists(owner: Any, named: set[str]) -> None:
    assert all(re.search(rf"`{name}\b", _TEXT) for name in named)
    assert named <= {name for name, _ in getmembers(owner)}


def test_every_variable_that_is_the_same_is_read() -> None:
    source = "".join(path.read_text() for path in (ROOT / "homeostat").rglob("*.py"))
    rows = table_rows(_TEXT, "| variable | here |")
    same = [name for names, here in rows if here.startswith("same") for name in re.findall(r"[A-Z_]{6,}", names)]
    assert len(same) > 20
    assert [name for name in same if f'"{name}"' not in source] == []


def test_every_helm_value_of_kube_devops_has_its_counterparts() -> None:
    text = text_of("docs/migrating-from-kube-devops.md").partition("\n## Helm values\n")[2].partition("\n## ")[0]
    rows = [each.strip("|").split("|") for each in text.splitlines() if each.startswith("| `")]
    chart = yaml.load((ROOT / "deploy/chart/values.yaml").read_bytes())
    deploy = {option for each in deploy_all.params for option in each.opts}
    assert len(rows) == 7
    for theirs, options, ours in rows:
        assert set(re.findall(r"`(--[a-z-]+)", options)) <= deploy, options
        values = re.findall(r"`([\w.]+)`", ours if "the same" not in ours or "retention" in theirs else ours + theirs)
        assert [each for each in values if not has_value(chart, each)] == []


def has_value(values: Any, path: str) -> bool:
    for name in path.split("."):
        if not isinstance(values, dict) or name not in values:
            return False
        values = values[name]
    return True


def test_every_variable_that_is_none_is_not_read() -> None:
    # A new contract has an example of a variable; contracts are no part of what is migrated.
    modules = [path for path in (ROOT / "homeostat").rglob("*.py") if "contracts" not in path.parts]
    source = "".join(path.read_text() for path in modules)
    rows = table_rows(_TEXT, "| variable | here |")
    other = [name for names, here in rows if not here.startswith("same") for name in re.findall(r"[A-Z_]{6,}", names)]
    assert [name for name in other if f'"{name}"' in source] == []
