"""Observes repositories, servers, secret stores and webhooks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from homeostat.client.base import Client
from homeostat.external.git.errors import GitError
from homeostat.external.rest.request import origin_of
from homeostat.external.secrets.scrub import Scrubber
from homeostat.objects.errors import Cause, forbidden
from homeostat.operators.sync.api.repository import RepositorySpec, ResourceRepository
from homeostat.operators.sync.api.server import ManagedServer, ServerSpec, ServerStatus
from homeostat.operators.sync.api.store import SecretStore, StoreSpec
from homeostat.operators.sync.api.webhook import RepositoryWebhook
from homeostat.operators.sync.credentials.connections import Connections
from homeostat.operators.sync.credentials.secrets import SecretValueError, SecretValues
from homeostat.operators.sync.dependencies.artifacts import Access, Artifacts
from homeostat.operators.sync.dependencies.git import Repositories
from homeostat.operators.sync.dependencies.world import RepositoryWorld, ServerWorld, StoreWorld, WebhookWorld
from homeostat.operators.sync.engine.errors import SyncError, TransportError
from homeostat.operators.sync.metrics import Series
from homeostat.operators.sync.server.client import ManagedServer as ManagedClient
from homeostat.operators.sync.server.settings import Throttle
from homeostat.operators.sync.validation.environment import Variables, expand
from homeostat.operators.sync.validation.specs import Spec, causes_of, seconds
from homeostat.runtime.cache.cache import Cache

S = TypeVar("S", bound=msgspec.Struct)
PROBE_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What the operators of sync share."""

    client: Client
    environment: Variables
    repositories: Repositories
    artifacts: Artifacts
    series: Series
    secret_files: Path | None = None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def connections(self, namespace: str, scrubber: Scrubber) -> Connections:
        secrets = SecretValues(self.client, namespace, scrubber)
        return Connections(secrets, self.environment.proxies, self.secret_files)


def read_spec(spec: S, environment: Mapping[str, str]) -> tuple[S, tuple[Cause, ...]]:
    """The spec with the variables of the environment in place, and why it is invalid."""
    try:
        found = expand(spec, environment)
    except msgspec.ValidationError as error:
        return spec, (forbidden("spec", str(error)),)
    assert isinstance(found, Spec)
    return found, tuple(causes_of(found))


async def observe_repository(repository: ResourceRepository, tools: Tools) -> RepositoryWorld:
    now = tools.now()
    if repository.is_terminating:
        return RepositoryWorld(now=now)
    spec, causes = read_spec(repository.spec, tools.environment)
    if causes:
        return RepositoryWorld(now=now, causes=causes)
    key = (repository.metadata.namespace, repository.metadata.name)
    interval_s, scrubber = seconds(spec.poll_interval), Scrubber()
    try:
        revision, path = await _fetch(key, spec, tools, scrubber)
    except (GitError, SecretValueError) as error:
        tools.series.polled(key, is_success=False)
        return RepositoryWorld(now=now, error=scrubber.scrub(str(error)), interval_s=interval_s)
    tools.series.polled(key, is_success=True)
    return RepositoryWorld(now=tools.now(), revision=revision, path=path, interval_s=interval_s)


async def _fetch(key: tuple[str, str], spec: RepositorySpec, tools: Tools, scrubber: Scrubber) -> tuple[str, str]:
    assert spec.git is not None
    remote = await tools.connections(key[0], scrubber).remote(spec.git, identity="/".join(key))
    return await tools.repositories.fetch(remote, spec.git.branch), tools.repositories.path(remote)


async def observe_server(server: ManagedServer, tools: Tools) -> ServerWorld:
    if server.is_terminating:
        return ServerWorld()
    spec, causes = read_spec(server.spec, tools.environment)
    if causes:
        return ServerWorld(causes=causes)
    interval_s, scrubber = seconds(spec.poll_interval), Scrubber()
    found = ServerWorld(interval_s=interval_s, health="unset")
    if spec.http.health_check:
        # Policies wait until a new spec was reconciled, and that must not wait for a server that does not answer.
        is_new = server.read_status(ServerStatus).observed_generation != server.metadata.generation
        error = "" if is_new else await probe_server(server.metadata.namespace, spec, tools)
        found = replace(found, health="pending" if is_new else "failed" if error else "passed", health_error=error)
    try:
        openapi, metadata = await _documents(server, spec, tools, scrubber)
    except SecretValueError as error:
        return replace(found, error=str(error), event="ProxyConfigFailed")
    except SyncError as error:
        return replace(found, error=scrubber.scrub(str(error)), event="DownloadFailed")
    return replace(found, openapi_path=openapi, metadata_path=metadata)


async def _documents(server: ManagedServer, spec: ServerSpec, tools: Tools, scrubber: Scrubber) -> tuple[str, str]:
    connections = tools.connections(server.metadata.namespace, scrubber)
    openapi = metadata = ""
    if spec.openapi is not None:
        access = await document_access(server, spec, spec.openapi.url, connections)
        openapi = str(await tools.artifacts.fetch_openapi(spec.openapi.url, access))
    if reference := bundle_of(spec):
        access = await document_access(server, spec, reference, connections)
        metadata = str(await tools.artifacts.fetch_bundle(reference, access))
    return openapi, metadata


async def document_access(server: ManagedServer, spec: ServerSpec, where: str, connections: Connections) -> Access:
    """Credentials and certificates are for what the managed server serves, and for nobody else."""
    if not where.startswith(("http://", "https://")) or origin_of(where) != origin_of(spec.http.base_url):
        return Access(await connections.proxies(spec.http.proxy))
    settings = await connections.server(spec.http)
    return Access(settings.proxies, settings.tls, settings.auth, f"{server.metadata.namespace}/{server.metadata.name}")


def bundle_of(spec: ServerSpec) -> str:
    """The reference of the metadata bundle; empty if there is none."""
    return "" if spec.metadata is None else spec.metadata.url or spec.metadata.bundle or ""


async def probe_server(namespace: str, spec: ServerSpec, tools: Tools) -> str:
    """Why the health check fails; empty if it succeeds. It neither waits for the limits of syncs nor counts there."""
    scrubber = Scrubber()
    try:
        settings = await tools.connections(namespace, scrubber).server(spec.http)
        client = ManagedClient(replace(settings, throttle=Throttle()), scrubber)
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                await client.check_health()
        finally:
            await client.close()
    except TimeoutError:
        return f"no answer within {PROBE_TIMEOUT_S:g} s"
    except (SecretValueError, SyncError) as error:
        return scrubber.scrub(str(error))
    return ""


async def observe_store(store: SecretStore, tools: Tools) -> StoreWorld:
    if store.is_terminating:
        return StoreWorld()
    spec, causes = read_spec(store.spec, tools.environment)
    if causes:
        return StoreWorld(causes=causes)
    path, scrubber = spec.file.path if spec.file is not None else "", Scrubber()
    try:
        await _open_store(store.metadata.namespace, spec, tools, scrubber)
    except SecretValueError as error:
        return StoreWorld(path=path, error=str(error))
    except TimeoutError:
        return StoreWorld(path=path, error=f"no answer within {PROBE_TIMEOUT_S:g} s", is_unknown=True)
    except SyncError as error:
        is_unknown = isinstance(error, TransportError)
        return StoreWorld(path=path, error=scrubber.scrub(str(error)), is_unknown=is_unknown)
    return StoreWorld(path=path)


async def _open_store(namespace: str, spec: StoreSpec, tools: Tools, scrubber: Scrubber) -> None:
    store = await tools.connections(namespace, scrubber).store(spec)
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            await store.check()
    finally:
        await store.close()


async def observe_webhook(
    webhook: RepositoryWebhook, tools: Tools, repositories: Cache[ResourceRepository]
) -> WebhookWorld:
    spec, causes = read_spec(webhook.spec, tools.environment)
    namespace = webhook.metadata.namespace
    has_repository = repositories.get(namespace, spec.repository_ref.name) is not None
    try:
        await SecretValues(tools.client, namespace, Scrubber()).get(spec.secret_ref)
    except SecretValueError as error:
        return WebhookWorld(causes=causes, has_repository=has_repository, secret_error=str(error))
    return WebhookWorld(causes=causes, has_repository=has_repository)
