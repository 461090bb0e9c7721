"""The credentials of pull secrets, read when they are needed and again when the Secret changes.

Of a Secret that is used, the credential is kept.
"""

from __future__ import annotations

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
from homeostat.operators.contracts.engine.checks.evaluate import Failure
from homeostat.operators.contracts.live.versions import Versions
from homeostat.operators.contracts.sources.pull_secret import read_pull_secret
from homeostat.runtime.setup import Setup

PATH: Final = "spec.contractRef.pullSecretRef"
_MOST_KEPT: Final = 1024


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
    def __init__(self, setup: Setup, versions: Versions) -> None:
        self._setup, self._versions = setup, versions
        self._kept: dict[tuple[str, str], Credential] = {}

    async def read(self, namespace: str, name: str) -> Credential | Failure:
        version = await self._versions.find(namespace, name)
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
