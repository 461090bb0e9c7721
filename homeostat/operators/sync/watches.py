"""What the operator watches, and which objects a change concerns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Final

from homeostat.objects.kind import SECRET
from homeostat.operators.sync.api.policy import SYNC_POLICY, SyncPolicy
from homeostat.operators.sync.api.repository import RESOURCE_REPOSITORY, ResourceRepository
from homeostat.operators.sync.api.server import MANAGED_SERVER, ManagedServer
from homeostat.operators.sync.api.store import SECRET_STORE, SecretStore
from homeostat.operators.sync.api.webhook import REPOSITORY_WEBHOOK, RepositoryWebhook
from homeostat.operators.sync.credentials.secrets import secret_names
from homeostat.operators.sync.dependencies.observe import read_spec
from homeostat.operators.sync.policies.observe import SeenSecret
from homeostat.operators.sync.policies.opening import Refs
from homeostat.operators.sync.validation.overlap import overlapping, server_url, sharing
from homeostat.runtime.setup import Setup

BY_SECRET: Final = "secret"  # noqa: S105
BY_REF: Final = "reference"
BY_URL: Final = "url"
Dependency = ResourceRepository | ManagedServer | SecretStore
Name = tuple[str, str]
_KIND_OF: Final = {
    ResourceRepository: RESOURCE_REPOSITORY.kind.kind,
    ManagedServer: MANAGED_SERVER.kind.kind,
    SecretStore: SECRET_STORE.kind.kind,
}


class Watches:
    def __init__(self, setup: Setup, environment: Mapping[str, str]) -> None:
        self._environment = environment
        used = {BY_SECRET: self._secrets_of}
        self.repositories = setup.watch(RESOURCE_REPOSITORY.kind, ResourceRepository, indexes=used)
        by_url = {BY_SECRET: self._secrets_of, BY_URL: self._url_of}
        self.servers = setup.watch(MANAGED_SERVER.kind, ManagedServer, indexes=by_url)
        self.stores = setup.watch(SECRET_STORE.kind, SecretStore, indexes=used)
        both = {BY_SECRET: self._secrets_of, BY_REF: self._repository_of}
        self.webhooks = setup.watch(REPOSITORY_WEBHOOK.kind, RepositoryWebhook, indexes=both)
        self.policies = setup.watch(SYNC_POLICY.kind, SyncPolicy, indexes={BY_REF: self._refs_of})
        self.secrets = setup.watch(SECRET, SeenSecret, is_metadata_only=True)

    def refs(self, policy: SyncPolicy) -> Refs | None:
        """What a policy refers to; None if one of them does not exist."""
        spec, namespace = read_spec(policy.spec, self._environment)[0], policy.metadata.namespace
        repository = self.repositories.cache.get(namespace, spec.resource_repository_ref.name)
        server = self.servers.cache.get(namespace, spec.managed_server_ref.name)
        store = self.stores.cache.get(namespace, spec.secret_store_ref.name)
        if repository is None or server is None or store is None:
            return None
        return Refs(repository=repository, server=server, store=store)

    def policies_of(self, dependency: Dependency) -> list[Name]:
        metadata = dependency.metadata
        return self.policies.cache.indexed_names(
            BY_REF, (_KIND_OF[type(dependency)], metadata.namespace, metadata.name)
        )

    def policies_of_secret(self, secret: SeenSecret) -> Iterator[Name]:
        key = key_of(secret)
        for each in self.repositories.cache.indexed(BY_SECRET, key):
            yield from self.policies_of(each)
        for server in self.servers.cache.indexed(BY_SECRET, key):
            yield from self.policies_of(server)
        for store in self.stores.cache.indexed(BY_SECRET, key):
            yield from self.policies_of(store)

    def rivals_of(self, policy: SyncPolicy) -> list[Name]:
        """Those that wait for this one to go, or have to give way to it."""
        spec, namespace = read_spec(policy.spec, self._environment)[0], policy.metadata.namespace
        key = (MANAGED_SERVER.kind.kind, namespace, spec.managed_server_ref.name)
        found = overlapping(policy, self.policies.cache.indexed(BY_REF, key), self._environment)
        return [(each.metadata.namespace, each.metadata.name) for each in (*found, *self.elsewhere(policy))]

    def elsewhere(self, policy: SyncPolicy) -> list[SyncPolicy]:
        """Those of other namespaces that sync an overlapping path of a server with the same URL."""
        spec, namespace = read_spec(policy.spec, self._environment)[0], policy.metadata.namespace
        server = self.servers.cache.get(namespace, spec.managed_server_ref.name)
        if server is None:
            return []
        same = [each for url in self._url_of(server) for each in self.servers.cache.indexed(BY_URL, url)]
        keys = [(MANAGED_SERVER.kind.kind, each.metadata.namespace, each.metadata.name) for each in same]
        others = [each for key in keys for each in self.policies.cache.indexed(BY_REF, key)]
        return sharing(policy, others, self._environment)

    def _url_of(self, server: ManagedServer) -> Iterable[Hashable]:
        return (server_url(read_spec(server.spec, self._environment)[0].http.base_url),)

    def _secrets_of(self, obj: Dependency | RepositoryWebhook) -> Iterable[Hashable]:
        spec = read_spec(obj.spec, self._environment)[0]
        return [(obj.metadata.namespace, name) for name in secret_names(spec)]

    def _repository_of(self, webhook: RepositoryWebhook) -> Iterable[Hashable]:
        spec = read_spec(webhook.spec, self._environment)[0]
        return ((webhook.metadata.namespace, spec.repository_ref.name),)

    def _refs_of(self, policy: SyncPolicy) -> Iterable[Hashable]:
        spec, namespace = read_spec(policy.spec, self._environment)[0], policy.metadata.namespace
        return (
            (RESOURCE_REPOSITORY.kind.kind, namespace, spec.resource_repository_ref.name),
            (MANAGED_SERVER.kind.kind, namespace, spec.managed_server_ref.name),
            (SECRET_STORE.kind.kind, namespace, spec.secret_store_ref.name),
        )


def key_of(obj: SeenSecret | ResourceRepository) -> Name:
    return obj.metadata.namespace, obj.metadata.name
