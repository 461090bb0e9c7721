"""The operators of repositories, servers, secret stores and webhooks: observe and decide put together."""

from __future__ import annotations

from typing import Never

from homeostat.objects.decision import Decision
from homeostat.operators.sync.api.repository import RepositoryStatus, ResourceRepository
from homeostat.operators.sync.api.server import ManagedServer
from homeostat.operators.sync.api.store import SecretStore
from homeostat.operators.sync.api.webhook import RepositoryWebhook
from homeostat.operators.sync.conditions import observed
from homeostat.operators.sync.dependencies.decide import decide_repository, decide_server, decide_store, decide_webhook
from homeostat.operators.sync.dependencies.observe import (
    Tools,
    observe_repository,
    observe_server,
    observe_store,
    observe_webhook,
)
from homeostat.operators.sync.dependencies.world import RepositoryWorld, ServerWorld, StoreWorld, WebhookWorld
from homeostat.runtime.cache.cache import Cache


class _WithoutActions:
    async def act(self, obj: object, action: Never) -> None:
        raise AssertionError(f"{type(obj).__name__} has no actions")


class RepositoryOperator(_WithoutActions):
    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def observe(self, obj: ResourceRepository) -> RepositoryWorld:
        return await observe_repository(obj, self._tools)

    def decide(self, obj: ResourceRepository, world: RepositoryWorld) -> Decision[Never]:
        if world.revision and world.revision != obj.read_status(RepositoryStatus).last_fetched_revision:
            self._tools.series.moved((obj.metadata.namespace, obj.metadata.name))
        return observed(decide_repository(obj, world), obj)


class ServerOperator(_WithoutActions):
    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def observe(self, obj: ManagedServer) -> ServerWorld:
        return await observe_server(obj, self._tools)

    def decide(self, obj: ManagedServer, world: ServerWorld) -> Decision[Never]:
        return observed(decide_server(obj, world), obj)


class StoreOperator(_WithoutActions):
    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def observe(self, obj: SecretStore) -> StoreWorld:
        return await observe_store(obj, self._tools)

    def decide(self, obj: SecretStore, world: StoreWorld) -> Decision[Never]:
        return observed(decide_store(obj, world), obj)


class WebhookOperator(_WithoutActions):
    def __init__(self, tools: Tools, repositories: Cache[ResourceRepository]) -> None:
        self._tools, self._repositories = tools, repositories

    async def observe(self, obj: RepositoryWebhook) -> WebhookWorld:
        return await observe_webhook(obj, self._tools, self._repositories)

    def decide(self, obj: RepositoryWebhook, world: WebhookWorld) -> Decision[Never]:
        return observed(decide_webhook(obj, world), obj)
