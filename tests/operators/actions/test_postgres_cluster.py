"""The example of a reconciler over three plugins: a workflow, a program, and a health check over HTTP."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from homeostat.client.base import Client
from homeostat.objects import yaml
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import REQUESTED, ResourceTypeSpec
from homeostat.operators.actions.plugins.github_actions import GitHubActionsPlugin
from homeostat.operators.actions.plugins.plugin import Tools
from homeostat.operators.actions.runs.jobs import Effective, read_config
from homeostat.plane import Settings, open_plane
from homeostat.testing.eventually import eventually
from tests.external.fake_github import TOKEN, FakeGitHub, Workflow
from tests.external.servers import serving
from tests.operators.actions.jobs import tools
from tests.operators.actions.things import Things, managed

EXAMPLE = Path(__file__).parents[3] / "examples" / "postgres-cluster"
CONFIGURE = """
import json, pathlib, sys
asked = json.load(sys.stdin)
path = pathlib.Path(sys.argv[1])
wanted = f"size {asked['spec']['size']} at {asked['spec']['leader']}"
is_changed = not path.exists() or path.read_text() != wanted
if asked["purpose"] == "apply":
    path.write_text(wanted)
if asked["purpose"] == "destroy":
    path.unlink(missing_ok=True)
print(json.dumps({"changed": is_changed, "updated": int(is_changed)}))
"""


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    yield import_module("postgres_cluster.plugin").PostgresCluster
    for name in [each for each in sys.modules if each.startswith("postgres_cluster")]:
        del sys.modules[name]


class Site:
    """A GitHub that provisions, a leader whose state is read, and a file that is the configuration."""

    def __init__(self, folder: Path) -> None:
        self.state, self.machines = "starting", ""
        self.configured = folder / "configured"
        self.program = folder / "configure.py"
        self.program.write_text(CONFIGURE)
        outputs = {"homeostat-outputs": {"leader": {"value": "127.0.0.1", "type": "string", "sensitive": False}}}
        inputs = frozenset({"spec", "ticket"})
        named: dict[str, Any] = {"inputs": inputs, "run_name": "terraform ({ticket})"}
        self.github = FakeGitHub(
            terraform=Workflow(**named, artifacts=outputs, effect=self._provision),
            remove=Workflow(**named, effect=self._remove),
        )

    def _provision(self, inputs: dict[str, str]) -> None:
        self.machines = inputs["spec"]

    def _remove(self, _: dict[str, str]) -> None:
        self.machines = ""

    async def leader(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"state": self.state, "role": "primary", "timeline": 1})

    def config(self, port: int) -> JsonObject:
        arguments = [sys.executable, str(self.program), str(self.configured)]
        address = f"http://${{spec.leader}}:{port}/patroni"
        return {
            "infrastructure": {
                "plugin": "github_actions",
                "config": {
                    "owner": "acme",
                    "repo": "infra",
                    "workflow": "terraform.yml",
                    "destroyWorkflow": "remove.yml",
                    "ticketInput": "ticket",
                    "pollSeconds": 1,
                },
            },
            "configuration": {
                "plugin": "command",
                "config": {"plan": arguments, "apply": arguments, "destroy": arguments},
            },
            "health": {
                "plugin": "http",
                "config": {"url": address, "item": address, "body": {"state": "running", "role": "primary"}},
            },
            "healthAttempts": 2,
            "healthSeconds": 0.1,
        }


@pytest.fixture
async def cluster(plugin: Any, data: Path, tmp_path: Path) -> AsyncIterator[tuple[Client, Things, Site]]:
    site = Site(tmp_path)
    async with (
        serving(site.github) as url,
        serving(site.leader) as leader,
        open_plane(Settings(data=data, port=0, operators=frozenset())) as plane,
    ):
        site.github.url = url
        port = int(leader.rpartition(":")[2].strip("/"))
        things = Things("postgres_cluster", site.config(port), tmp_path / "work", type_name="PostgresCluster")
        things.type = msgspec.structs.replace(
            things.type,
            schema={"type": "object", "properties": {"size": {"type": "integer"}}},
            retry=msgspec.convert({"baseSeconds": 1}, type(things.type.retry)),
        )
        environment = {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": url}
        github = GitHubActionsPlugin(Tools(things.http, environment))
        things.add(postgres_cluster=plugin(tools()), github_actions=github)
        async with managed(plane.client, things):
            yield plane.client, things, site


def conditions(obj: JsonObject) -> dict[str, str]:
    return {each["type"]: each["status"] for each in obj["status"].get("conditions") or ()}


async def reaches(client: Client, things: Things, phase: str) -> JsonObject:
    def is_there(obj: JsonObject) -> bool:
        status = obj.get("status") or {}
        return status.get("phase") == phase and "run" not in status

    obj: JsonObject = await eventually(lambda: client.get(things.path("orders")), is_there)
    return obj


async def test_a_cluster_is_provisioned_configured_checked_repaired_and_removed(
    cluster: tuple[Client, Things, Site],
) -> None:
    client, things, site = cluster
    site.state = "running"
    await client.create(things.path(), {**things.thing("orders"), "spec": {"size": 3}})
    obj = await reaches(client, things, "ready")
    assert (site.machines, site.configured.read_text()) == ('{"size":3}', "size 3 at 127.0.0.1")
    assert obj["status"]["outputs"]["leader"] == "127.0.0.1"
    steps = {"InfrastructureProvisioned": "True", "ConfigurationApplied": "True", "ClusterHealthy": "True"}
    assert steps.items() <= conditions(obj).items()
    assert [each.workflow for each in site.github.runs.values()] == ["terraform.yml"]

    # Somebody changes the configuration: the step that differs is applied, and the workflow is not started again.
    site.configured.write_text("tampered")
    await client.merge(things.path("orders"), {"metadata": {"annotations": {REQUESTED: "now"}}})
    await eventually(site.configured.read_text, lambda found: found == "size 3 at 127.0.0.1")
    await reaches(client, things, "ready")
    assert len(site.github.runs) == 1

    await client.delete(things.path("orders"))
    await eventually(lambda: client.list(things.path()), lambda listed: not listed[0])
    assert (site.machines, site.configured.exists()) == ("", False)
    secrets, _ = await client.list("/api/v1/namespaces/default/secrets")
    assert [each["metadata"]["name"] for each in secrets if "homeostat-state" in each["metadata"]["name"]] == []


async def test_a_cluster_that_is_not_healthy_fails_with_the_step_that_failed(
    cluster: tuple[Client, Things, Site],
) -> None:
    client, things, site = cluster
    await client.create(things.path(), {**things.thing("orders"), "spec": {"size": 3}})
    obj = await reaches(client, things, "failed")
    assert obj["status"]["message"].startswith("Unhealthy: the cluster is not healthy: ")
    found = conditions(obj)
    assert (found["ConfigurationApplied"], found["ClusterHealthy"]) == ("True", "False")
    site.state = "running"
    await reaches(client, things, "ready")


def test_the_type_of_the_example_is_one_that_its_plugin_takes(plugin: Any) -> None:
    (declared,) = yaml.load_all((EXAMPLE / "type.yaml").read_bytes())
    spec = msgspec.convert(declared["spec"], ResourceTypeSpec)
    config: Any = read_config(plugin(tools()), Effective("it", spec.action.config, {}), operator={}).read
    used = [each.plugin for each in (config.infrastructure, config.configuration, config.health)]
    assert used == ["terraform", "command", "http"]
    assert spec.name in plugin.resource_types
