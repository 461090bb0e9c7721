"""Observes repositories, servers, secret stores and webhooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from homeostat.client.base import Client
from homeostat.external.git.errors import GitError
from homeostat.external.secrets.scrub import Scrubber
from homeostat.objects.errors import Cause, forbidden
from homeostat.operators.sync.api.repository import RepositorySpec, ResourceRepository
from homeostat.operators.sync.api.server import ManagedServer, ServerSpec
from homeostat.operators.sync.api.store import SecretStore
from homeostat.operators.sync.api.webhook import RepositoryWebhook
from homeostat.operators.sync.credentials.connections import Connections
from homeostat.operators.sync.credentials.secrets import SecretValueError, SecretValues
from homeostat.operators.sync.dependencies.artifacts import Artifacts
from homeostat.operators.sync.dependencies.git import Repositories
from homeostat.operators.sync.dependencies.world import RepositoryWorld, ServerWorld, StoreWorld, WebhookWorld
from homeostat.operators.sync.engine.errors import SyncError
from homeostat.operators.sync.metrics import Series
from homeostat.operators.sync.validation.environment import expand
from homeostat.operators.sync.validation.specs import Spec, causes_of, seconds
from homeostat.runtime.cache.cache import Cache

S = TypeVar("S", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What observers share."""

    client: Client
    environment: Mapping[str, str]
    repositories: Repositories
    artifacts: Artifacts
    series: Series
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def connections(self, namespace: str, scrubber: Scrubber) -> Connections:
        return Connections(SecretValues(self.client, namespace, scrubber), self.environment)


def read_spec(spec: S, environment: Mapping[str, str]) -> tuple[S, tuple[Cause, ...]]:
    """The spec with the variables of the environment in place, and why it is invalid."""
    try:
        found = expand(spec, environment)
    except msgspec.ValidationError as error:
        return spec, (forbidden("spec", str(error)),)
    assert isinstance(found, Spec)
    return found, tuple(causes_of(found))


async def observe_repository(repository: ResourceRepository, means: Means) -> RepositoryWorld:
    now = means.now()
    if repository.is_terminating:
        return RepositoryWorld(now=now)
    spec, causes = read_spec(repository.spec, means.environment)
    if causes:
        return RepositoryWorld(now=now, causes=causes)
    key = (repository.metadata.namespace, repository.metadata.name)
    interval_s, scrubber = seconds(spec.poll_interval), Scrubber()
    try:
        revision, path = await _fetch(key, spec, means, scrubber)
    except (GitError, SecretValueError) as error:
        means.series.polled(key, is_success=False)
        return RepositoryWorld(now=now, error=scrubber.scrub(str(error)), interval_s=interval_s)
    means.series.polled(key, is_success=True)
    return RepositoryWorld(now=means.now(), revision=revision, path=path, interval_s=interval_s)


async def _fetch(key: tuple[str, str], spec: RepositorySpec, means: Means, scrubber: Scrubber) -> tuple[str, str]:
    assert spec.git is not None
    remote = await means.connections(key[0], scrubber).remote(spec.git, identity="/".join(key))
    return await means.repositories.fetch(remote, spec.git.branch), means.repositories.path(remote)


async def observe_server(server: ManagedServer, means: Means) -> ServerWorld:
    if server.is_terminating:
        return ServerWorld()
    spec, causes = read_spec(server.spec, means.environment)
    if causes:
        return ServerWorld(causes=causes)
    interval_s, scrubber = seconds(spec.poll_interval), Scrubber()
    try:
        openapi, metadata = await _documents(server.metadata.namespace, spec, means, scrubber)
    except SecretValueError as error:
        return ServerWorld(error=str(error), event="ProxyConfigFailed", interval_s=interval_s)
    except SyncError as error:
        return ServerWorld(error=scrubber.scrub(str(error)), event="DownloadFailed", interval_s=interval_s)
    return ServerWorld(openapi_path=openapi, metadata_path=metadata, interval_s=interval_s)


async def _documents(namespace: str, spec: ServerSpec, means: Means, scrubber: Scrubber) -> tuple[str, str]:
    proxies = await means.connections(namespace, scrubber).proxies(spec.http.proxy)
    openapi = metadata = ""
    if spec.openapi is not None:
        openapi = str(await means.artifacts.fetch_openapi(spec.openapi.url, proxies))
    if reference := bundle_of(spec):
        metadata = str(await means.artifacts.fetch_bundle(reference, proxies))
    return openapi, metadata


def bundle_of(spec: ServerSpec) -> str:
    """The reference of the metadata bundle; empty if there is none."""
    return "" if spec.metadata is None else spec.metadata.url or spec.metadata.bundle or ""


async def observe_store(store: SecretStore, means: Means) -> StoreWorld:
    if store.is_terminating:
        return StoreWorld()
    spec, causes = read_spec(store.spec, means.environment)
    if causes:
        return StoreWorld(causes=causes)
    return StoreWorld(path=spec.file.path if spec.file is not None else "")


async def observe_webhook(
    webhook: RepositoryWebhook, means: Means, repositories: Cache[ResourceRepository]
) -> WebhookWorld:
    spec, causes = read_spec(webhook.spec, means.environment)
    namespace = webhook.metadata.namespace
    has_repository = repositories.get(namespace, spec.repository_ref.name) is not None
    try:
        await SecretValues(means.client, namespace, Scrubber()).get(spec.secret_ref)
    except SecretValueError as error:
        return WebhookWorld(causes=causes, has_repository=has_repository, secret_error=str(error))
    return WebhookWorld(causes=causes, has_repository=has_repository)
