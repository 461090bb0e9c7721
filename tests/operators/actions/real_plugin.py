"""A life whose plugin is a real one, behind the real operator; time and death are still the test's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from homeostat.client.base import Client, Response, UnreachableError
from homeostat.external.secrets.stores import SecretStore
from homeostat.objects.decision import Receipt, Wait
from homeostat.operators.actions.api import ActionReference, Resource, ResourceStatus, ResourceTypeSpec
from homeostat.operators.actions.dependencies import Dependencies
from homeostat.operators.actions.digest import declaration_digest
from homeostat.operators.actions.operator import ResourceOperator
from homeostat.operators.actions.plugins.catalog import Catalog
from homeostat.operators.actions.plugins.plugin import Plugin
from homeostat.operators.actions.runs.conclusion import Action
from homeostat.operators.actions.runs.history import Prune, Record
from homeostat.operators.actions.runs.jobs import effective_action
from homeostat.operators.actions.world import World
from tests.operators.actions.lifecycle import Here, Life


class Nowhere:
    """No plane is there: what these lives write, they keep themselves."""

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        raise UnreachableError(f"{method} {path}: there is no plane")

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        raise UnreachableError(f"{path}: there is no plane")


class HostedLife(Life):
    """`make` makes a plugin as a new process would; `others` are there besides."""

    def __init__(
        self,
        runner: asyncio.Runner,
        make: Callable[[], Plugin[Any]],
        config: dict[str, Any],
        *,
        spec: dict[str, Any] | None = None,
        stores: dict[str, SecretStore] | None = None,
        directory: Path = Path("/nonexistent"),
        dies_at: int = 0,
        others: Mapping[str, Plugin[Any]] | None = None,
    ) -> None:
        super().__init__(Here(), dies_at=dies_at)
        self._others = dict(others or {})
        self.obj["spec"] = spec or {"value": "one"}
        self._runner, self._make, self._stores, self._directory = runner, make, stores or {}, directory
        self.type = ResourceTypeSpec(name="Thing", action=ActionReference(make().name, config))
        self.waits: list[str] = []
        self.reborn()

    def reborn(self, plugin: Plugin[Any] | None = None) -> None:
        plugin = plugin or self._make()
        dependencies = Dependencies(
            client=Client(Nowhere()),
            plugins=Catalog({**self._others, plugin.name: plugin}, {}),
            stores=self._stores,
            directory=self._directory,
            now=self._now,
            chance=lambda: 0.5,
        )
        self.operator = ResourceOperator(lambda _: self.type, dependencies)

    def _now(self) -> datetime:
        return self.now

    def seconds(self) -> float:
        return self.now.timestamp()

    @property
    def digest(self) -> str:
        action = effective_action(self.resource, self.type.action)
        return declaration_digest(self.obj["spec"], action.plugin, action.config)

    def look(self) -> Any:
        deaths = self.deaths
        try:
            return super().look()
        except Wait as wait:
            self.waits.append(wait.reason)
            return wait.after
        finally:
            if self.deaths > deaths:
                self.reborn()

    def observe(self, resource: Resource, status: ResourceStatus) -> World:
        return self._runner.run(self.operator.observe(resource))

    def act(self, action: Action) -> Receipt | None:
        if isinstance(action, Record | Prune):
            return super().act(action)
        return self._runner.run(self.operator.act(self.resource, action))
