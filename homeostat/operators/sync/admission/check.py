"""Checks one write: in process on an embedded plane (`runtime/guard.py`), and behind the admission webhook elsewhere.

It refuses an invalid spec, a policy that overlaps another one, a webhook without its repository or Secret, and the
deletion of what a policy still refers to. An object that is being deleted is not checked: whatever it has become, its
finalizer must go. It reads with the client and not from caches, which may be stale.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Final

import msgspec

from homeostat.client.base import Client
from homeostat.client.pages import Page, pages
from homeostat.external.secrets.scrub import Scrubber
from homeostat.objects.crd.custom_kind import CustomKind
from homeostat.objects.declared import Metadata
from homeostat.objects.errors import Cause, ForbiddenError, NotFoundError, forbidden, invalid_object
from homeostat.objects.json import JsonObject
from homeostat.operators.sync.api.policy import SYNC_POLICY, PolicySpec, SyncPolicy
from homeostat.operators.sync.api.repository import RESOURCE_REPOSITORY, ResourceRepository
from homeostat.operators.sync.api.server import MANAGED_SERVER, ManagedServer
from homeostat.operators.sync.api.store import SECRET_STORE, SecretStore
from homeostat.operators.sync.api.webhook import REPOSITORY_WEBHOOK, RepositoryWebhook
from homeostat.operators.sync.credentials.secrets import SecretValueError, SecretValues
from homeostat.operators.sync.dependencies.observe import read_spec
from homeostat.operators.sync.validation.overlap import age, overlapping
from homeostat.operators.sync.validation.specs import Spec, warnings_of
from homeostat.runtime.guard import Guard

Object = ResourceRepository | ManagedServer | SecretStore | SyncPolicy | RepositoryWebhook
_SHAPES: Final[dict[str, type[Object]]] = {
    RESOURCE_REPOSITORY.kind.kind: ResourceRepository,
    MANAGED_SERVER.kind.kind: ManagedServer,
    SECRET_STORE.kind.kind: SecretStore,
    SYNC_POLICY.kind.kind: SyncPolicy,
    REPOSITORY_WEBHOOK.kind.kind: RepositoryWebhook,
}
_PAGE: Final = 100
"""Policies that are compared in one turn of the event loop."""


class _Listed(msgspec.Struct, frozen=True):
    """A policy without its status, which may be a hundred times as large."""

    metadata: Metadata
    spec: PolicySpec


_listed: Final = msgspec.json.Decoder(Page[_Listed])


class Admission:
    def __init__(self, client: Client, environment: Mapping[str, str]) -> None:
        self._client, self._environment = client, environment

    def guard(self, kind: CustomKind) -> Guard:
        async def check(_: str, old: JsonObject | None, new: JsonObject | None) -> None:
            await self.check(kind, old, new)

        return check

    async def check(self, kind: CustomKind, old: JsonObject | None, new: JsonObject | None) -> list[str]:
        """Warnings about a write that is allowed; raises the error that refuses any other."""
        if new is None:
            await self._check_deletion(kind, old)
            return []
        if new["metadata"].get("deletionTimestamp") or (old is not None and old.get("spec") == new.get("spec")):
            return []
        obj = _read(kind, new)
        spec, causes = read_spec(obj.spec, self._environment)
        found = list(causes) or await self._further(obj)
        if found:
            raise invalid_object(kind.kind.kind, kind.kind.group, obj.metadata.name, found)
        assert isinstance(spec, Spec)
        return warnings_of(spec)

    async def _further(self, obj: Object) -> list[Cause]:
        if isinstance(obj, SyncPolicy):
            return await self._overlaps(obj)
        return await self._webhook(obj) if isinstance(obj, RepositoryWebhook) else []

    async def _overlaps(self, policy: SyncPolicy) -> list[Cause]:
        rivals = [
            rival
            async for page in self._policies(policy.metadata.namespace)
            for rival in overlapping(policy, page, self._environment)
        ]
        if not rivals:
            return []
        oldest = min(rivals, key=age).metadata.name
        text = f'overlaps the path of SyncPolicy "{oldest}", which syncs the same ManagedServer; choose another path'
        return [forbidden("spec.source.path", text)]

    async def _webhook(self, webhook: RepositoryWebhook) -> list[Cause]:
        spec, namespace, causes = (
            read_spec(webhook.spec, self._environment)[0],
            webhook.metadata.namespace,
            list[Cause](),
        )
        try:
            await self._client.get(RESOURCE_REPOSITORY.kind.path(namespace, spec.repository_ref.name))
        except NotFoundError:
            text = f'ResourceRepository "{spec.repository_ref.name}" does not exist; create it first'
            causes.append(forbidden("spec.repositoryRef.name", text))
        try:
            await SecretValues(self._client, namespace, Scrubber()).get(spec.secret_ref)
        except SecretValueError as error:
            causes.append(forbidden("spec.secretRef", str(error)))
        return causes

    async def _check_deletion(self, kind: CustomKind, old: JsonObject | None) -> None:
        if old is None or old["metadata"].get("deletionTimestamp"):
            return
        metadata = old["metadata"]
        users = [
            each.metadata.name
            async for page in self._policies(metadata.get("namespace", ""))
            for each in page
            if not each.is_terminating and _refers(read_spec(each.spec, self._environment)[0], kind, metadata["name"])
        ]
        if users:
            named = f'{kind.kind.plural}.{kind.kind.group} "{metadata["name"]}"'
            raise ForbiddenError(
                f'{named} is forbidden: SyncPolicy "{users[0]}" refers to it; delete the policy first',
                kind=kind.kind.plural,
                group=kind.kind.group,
                name=metadata["name"],
            )

    async def _policies(self, namespace: str) -> AsyncIterator[list[SyncPolicy]]:
        async for page in pages(self._client, SYNC_POLICY.kind.path(namespace), _listed, limit=_PAGE):
            yield [SyncPolicy(metadata=each.metadata, spec=each.spec) for each in page]


def _read(kind: CustomKind, obj: JsonObject) -> Object:
    shape = _SHAPES[kind.kind.kind]
    try:
        return msgspec.convert({"metadata": obj["metadata"], "spec": obj.get("spec", {})}, shape)
    except msgspec.ValidationError as error:
        name = obj["metadata"].get("name", "")
        raise invalid_object(kind.kind.kind, kind.kind.group, name, [forbidden("spec", str(error))]) from error


def _refers(spec: PolicySpec, kind: CustomKind, name: str) -> bool:
    refs = {
        RESOURCE_REPOSITORY.kind.kind: spec.resource_repository_ref.name,
        MANAGED_SERVER.kind.kind: spec.managed_server_ref.name,
        SECRET_STORE.kind.kind: spec.secret_store_ref.name,
    }
    return refs.get(kind.kind.kind) == name
