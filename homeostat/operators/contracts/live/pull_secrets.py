"""The credentials of pull secrets, read when they are needed and again when the Secret changes.

Only metadata of Secrets is watched, and only once a Pacto names one; of a Secret that is used, the credential is kept.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from homeostat.client.base import UnreachableError
from homeostat.external.oci.auth import Keychain
from homeostat.external.oci.errors import InvalidReferenceError
from homeostat.external.oci.registry import parse_reference
from homeostat.external.secrets.credentials import CredentialError
from homeostat.external.secrets.kubernetes import NamespaceStore
from homeostat.external.secrets.secrets import SecretError
from homeostat.objects.errors import ApiError
from homeostat.objects.kind import SECRET
from homeostat.operators.contracts.engine.checks.evaluate import Failure
from homeostat.operators.contracts.live.projections import SeenMetadata
from homeostat.operators.contracts.live.targets import OnChange
from homeostat.operators.contracts.sources.pull_secret import read_pull_secret
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.informer import Informer
from homeostat.runtime.setup import Setup

PATH: Final = "spec.contractRef.pullSecretRef"
_SYNC_WITHIN_S: Final = 2.0
_MOST_KEPT: Final = 1024


class SeenSecret(msgspec.Struct, frozen=True):
    metadata: SeenMetadata


class Credential(msgspec.Struct, frozen=True):
    """A keychain, and an identity that changes with the Secret: what one credential fetched, no other is given."""

    keychain: Keychain
    identity: str

    def __repr__(self) -> str:
        return f"Credential({self.identity})"

    def failure_for(self, ref: str) -> Failure | None:
        """Why the Secret has no credential for the registry of a reference; None if it has, or if the reference is
        invalid, which is reported when it is loaded.
        """
        try:
            image = parse_reference(ref)
            self.keychain.find(image.registry, image.path)
        except InvalidReferenceError:
            return None
        except CredentialError as error:
            return Failure(f"The pull secret cannot be used: {error}", PATH)
        return None


class PullSecrets:
    def __init__(self, setup: Setup, on_change: OnChange) -> None:
        self._setup, self._on_change = setup, on_change
        self._informer: Informer[SeenSecret] | None = None
        self._kept: dict[tuple[str, str], Credential] = {}

    async def read(self, namespace: str, name: str) -> Credential | Failure:
        version = await self._version(namespace, name)
        identity = f"{namespace}/{name}@{version}"
        kept = self._kept.get((namespace, name))
        if kept is not None and version and kept.identity == identity:
            return kept
        try:
            data = await NamespaceStore(self._setup.client, namespace).read(name)
            credential = Credential(read_pull_secret(data), identity)
        except KeyError:
            return Failure(f'Secret "{name}" does not exist in namespace "{namespace}"; create it', PATH)
        except (CredentialError, SecretError, ApiError, UnreachableError) as error:
            return Failure(f'Secret "{name}" cannot be used: {error}', PATH)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[namespace, name] = credential
        return credential

    async def _version(self, namespace: str, name: str) -> str:
        """Empty if it is not known yet; then the Secret is read each time."""
        if self._informer is None:
            self._informer = self._setup.watch(SECRET, SeenSecret, is_metadata_only=True)
            self._informer.add_handler(self._changed)
        if not self._informer.cache.is_synced:
            try:
                async with asyncio.timeout(_SYNC_WITHIN_S):
                    await self._informer.synced()
            except TimeoutError:
                return ""
        found = self._informer.cache.readable(namespace, name)
        return "" if found is None else found.metadata.resource_version

    def _changed(self, change: Change[SeenSecret]) -> None:
        self._kept.pop((change.namespace, change.name), None)
        self._on_change(change.namespace, change.name)
