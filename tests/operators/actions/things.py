"""An operator of one resource type on a real plane, and a plugin that keeps its things in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from homeostat.client.base import Client
from homeostat.external.rest.client import RestClient
from homeostat.external.secrets.stores import EnvironmentStore
from homeostat.objects.conditions import Condition
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import DEFINITION
from homeostat.operators.actions.api import FINALIZER, KINDS, ActionReference, Resource, ResourceTypeSpec
from homeostat.operators.actions.dependencies import Dependencies
from homeostat.operators.actions.operator import ResourceOperator
from homeostat.operators.actions.plugins.catalog import ACTIONS, Catalog, discover
from homeostat.operators.actions.plugins.plugin import ActionError, Job, Plugin, Tools
from homeostat.operators.actions.runs.run import Changes, Outcome
from homeostat.operators.actions.types.definition import definition_of
from homeostat.operators.actions.types.naming import resource_kind
from homeostat.operators.actions.world import Plan
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.runtime.setup import Setup
from homeostat.testing.eventually import eventually


class ShelfConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    prefix: str = ""


class ShelfPlugin:
    name, version, config = "shelf", "1.0.0", ShelfConfig

    def __init__(self) -> None:
        self.things: dict[str, str] = {}
        self.applies = self.plans = 0
        self.trouble = ""

    async def plan(self, job: Job[ShelfConfig]) -> Plan:
        self.plans += 1
        if self.trouble:
            raise ActionError("Broken", self.trouble)
        return Plan(self.things.get(job.name) != self._wanted(job), Changes(updated=1), "a plan")

    async def apply(self, job: Job[ShelfConfig]) -> Outcome:
        self.applies += 1
        self.things[job.name] = self._wanted(job)
        await job.state.save(f"state of {job.name}".encode())
        own = Condition("Shelved", "True", "Shelved", "")
        return Outcome(is_success=True, outputs={"text": self.things[job.name]}, conditions=(own,))

    async def destroy(self, job: Job[ShelfConfig]) -> Outcome:
        if self.trouble:
            raise ActionError("Broken", self.trouble)
        self.things.pop(job.name, None)
        await job.state.save(b"")
        return Outcome(is_success=True)

    def _wanted(self, job: Job[ShelfConfig]) -> str:
        return f"{job.config.prefix}{job.spec['text']}"


SCHEMA: JsonObject = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string"}, "size": {"type": "integer", "default": 1}},
}


class Things:
    """`type` may be changed while it runs. `more` are plugins beside those of ours."""

    KINDS = KINDS
    concurrency = 16

    def __init__(
        self,
        plugin: str,
        config: Mapping[str, Any],
        directory: Path,
        *,
        type_name: str = "Thing",
        **more: Plugin[Any],
    ) -> None:
        action = ActionReference(plugin, dict(config))
        self.type = ResourceTypeSpec(name=type_name, schema=SCHEMA, action=action, interval_seconds=3600)
        self.kind = resource_kind(self.type)
        self.http = RestClient()
        found = discover("homeostat.actions", Tools(self.http, {}), points=[], ours=ACTIONS)
        self._plugins = Catalog({**{name: found.get(name) for name in found}, **more}, {})
        self._directory = directory

    def add(self, **plugins: Plugin[Any]) -> None:
        known = {name: self._plugins.get(name) for name in self._plugins}
        self._plugins = Catalog({**known, **plugins}, {})

    def operator(self, client: Client) -> ResourceOperator:
        dependencies = Dependencies(
            client=client,
            plugins=self._plugins,
            stores={"env": EnvironmentStore({"HOMEOSTAT_SECRET_TOKEN": "a-very-secret-token"})},
            directory=self._directory,
        )
        return ResourceOperator(lambda _: self.type, dependencies)

    def register(self, setup: Setup) -> None:
        options = Options(finalizer=FINALIZER, concurrency=self.concurrency)
        self.controller = setup.control(self.kind, Resource, self.operator(setup.client), options)

    def path(self, name: str = "") -> str:
        return self.kind.path("default", name)

    def thing(self, name: str, text: str = "hello", **more: Any) -> JsonObject:
        return {
            "apiVersion": self.kind.api_version,
            "kind": self.kind.kind,
            "metadata": {"name": name},
            "spec": {"text": text},
            **more,
        }


@asynccontextmanager
async def managed(client: Client, things: Things) -> AsyncIterator[Manager]:
    """As after a start: what is there is found, and what is in memory is new."""
    await install(client, KINDS)
    definition = definition_of([things.type])
    path = DEFINITION.path("", definition["metadata"]["name"])
    await client.apply(path, definition, manager="test", force=True)
    await eventually(lambda: client.list(things.path()))
    manager = Manager(client)
    manager.add("things", things.register)
    async with things.http, manager.running():
        yield manager
