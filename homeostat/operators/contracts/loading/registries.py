"""Access to registries: one client for all, and what was pulled on disk.

The credentials of the process (`PACTO_REGISTRY_*`) count where a Pacto has no pull secret, for `PACTO_REGISTRY_HOST`.
A pinned digest is read from the disk only after the registry has answered with the credential of the Pacto.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from homeostat.edge.proxies import read_proxies
from homeostat.external.oci.auth import Keychain
from homeostat.external.oci.keychain import Chain
from homeostat.external.oci.registry import Registry
from homeostat.external.oci.signature import Verifier
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.settings import RestSettings
from homeostat.operators.contracts.live.trust import Trust
from homeostat.operators.contracts.sources.cache import BlobCache
from homeostat.operators.contracts.sources.credential_order import operator_keychain
from homeostat.operators.contracts.sources.registry import LIMITS, RegistrySource


class Registries:
    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self._client = RestClient(RestSettings(proxies=read_proxies(environment)))
        self._process = operator_keychain(environment)
        self._cache = BlobCache(directory / "bundles")
        self._shared = Registry(self._client, keychain=self._process, limits=LIMITS)

    async def __aenter__(self) -> Registries:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    def try_again(self, repository: str) -> None:
        """The registry of this repository has reported a push: ask it even if it failed before."""
        self._client.try_again(repository.partition("/")[0])

    def source(self, keychain: Keychain | None, trust: Trust | None) -> RegistrySource:
        registry = self._shared
        if keychain is not None:
            registry = Registry(self._client, keychain=Chain((keychain, self._process)), limits=LIMITS)
        verify = None if trust is None else Verifier(registry, trust.keys)
        return RegistrySource(registry, self._cache, checks_access=True, verify=verify)
