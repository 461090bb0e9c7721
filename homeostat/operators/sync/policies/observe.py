"""Observes what a SyncPolicy depends on, from the caches: its dependencies, their Secrets, and other policies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final

import msgspec

from homeostat.objects.conditions import READY, find
from homeostat.objects.crd.custom_kind import Status
from homeostat.objects.declared import Declared
from homeostat.operators.sync.api.policy import SyncPolicy
from homeostat.operators.sync.api.repository import RepositoryStatus, ResourceRepository
from homeostat.operators.sync.api.server import ManagedServer
from homeostat.operators.sync.api.store import SecretStore
from homeostat.operators.sync.credentials.secrets import secret_names
from homeostat.operators.sync.dependencies.observe import read_spec
from homeostat.operators.sync.policies.world import Dependency, World
from homeostat.operators.sync.validation.overlap import age, overlapping
from homeostat.operators.sync.validation.specs import seconds
from homeostat.runtime.cache.cache import Cache
from homeostat.runtime.cache.informer import Informer

_SYNC_WITHIN_S: Final = 10.0


class SecretMetadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class SeenSecret(msgspec.Struct, frozen=True):
    """Of a Secret, no value is watched."""

    metadata: SecretMetadata


class Observer:
    def __init__(
        self,
        policies: Cache[SyncPolicy],
        repositories: Cache[ResourceRepository],
        servers: Cache[ManagedServer],
        stores: Cache[SecretStore],
        secrets: Informer[SeenSecret],
        *,
        elsewhere: Callable[[SyncPolicy], list[SyncPolicy]],
        environment: Mapping[str, str],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._policies, self._repositories, self._servers, self._stores = policies, repositories, servers, stores
        self._secrets, self._elsewhere, self._environment, self._now = secrets, elsewhere, environment, now

    async def observe(self, policy: SyncPolicy) -> World:
        now = self._now()
        spec, causes = read_spec(policy.spec, self._environment)
        if policy.is_terminating or causes:
            return World(now=now, spec=spec, causes=causes)
        async with asyncio.timeout(_SYNC_WITHIN_S):
            await self._secrets.synced()
        namespace = policy.metadata.namespace
        repository = self._repositories.get(namespace, spec.resource_repository_ref.name)
        server = self._servers.get(namespace, spec.managed_server_ref.name)
        store = self._stores.get(namespace, spec.secret_store_ref.name)
        found = (
            _dependency("ResourceRepository", spec.resource_repository_ref.name, repository),
            _dependency("ManagedServer", spec.managed_server_ref.name, server),
            _dependency("SecretStore", spec.secret_store_ref.name, store),
        )
        rivals = overlapping(policy, self._policies.in_namespace(namespace), self._environment)
        older = [each for each in rivals if age(each) < age(policy)]
        elsewhere = sorted(each.metadata.namespace for each in self._elsewhere(policy))
        revision = repository.read_status(RepositoryStatus).last_fetched_revision if repository is not None else None
        return World(
            now=now,
            spec=spec,
            rival=older[0].metadata.name if older else "",
            elsewhere=elsewhere[0] if elsewhere else "",
            dependencies=found,
            revision=revision or "",
            poll_s=_poll_s(repository),
            secrets_hash=self._hash(namespace, [each for each in (repository, server, store) if each is not None]),
            dependencies_hash=_digest(each.identity for each in found),
            interval_s=seconds(spec.sync_interval),
        )

    def _hash(self, namespace: str, objects: list[ResourceRepository | ManagedServer | SecretStore]) -> str:
        """Of the names and versions of all Secrets that the dependencies refer to."""
        names = {name for each in objects for name in secret_names(read_spec(each.spec, self._environment)[0])}
        return _digest(f"{name}:{self._version(namespace, name)}" for name in sorted(names))

    def _version(self, namespace: str, name: str) -> str:
        found = self._secrets.cache.readable(namespace, name)
        return "error:NotFound" if found is None else found.metadata.resource_version


def _dependency(kind: str, name: str, found: Declared | None) -> Dependency:
    if found is None or found.is_terminating:
        return Dependency(kind, name, "missing")
    status, metadata = found.read_status(Status), found.metadata
    ready = find(status.conditions, READY)
    identity = f"{metadata.uid}:{metadata.generation}"
    if ready is None or status.observed_generation != metadata.generation:
        return Dependency(kind, name, "unready", "it was not reconciled yet", identity)
    return Dependency(kind, name, "ready" if ready.status == "True" else "unready", ready.message, identity)


def _poll_s(repository: ResourceRepository | None) -> float:
    try:
        return max(seconds(repository.spec.poll_interval), 1.0) if repository is not None else 60.0
    except ValueError:
        return 60.0


def _digest(facts: Iterator[str]) -> str:
    return sha256("\n".join(facts).encode()).hexdigest()
