"""The credential of a pull secret: `kubernetes.io/dockerconfigjson`, a `token`, or `username` and `password`. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.external.oci.auth import Keychain, OneCredential
from homeostat.external.secrets.credentials import CredentialError, SecretData, read_basic, read_bearer
from homeostat.external.secrets.docker_config import RegistryCredential, read_docker_config

_DOCKER: Final = (".dockerconfigjson", ".dockercfg")


class _Matching:
    """An entry is required: a secret that is given for an object is meant for its registry."""

    def __init__(self, keychain: Keychain) -> None:
        self._keychain = keychain

    def find(self, registry: str, repository: str = "") -> RegistryCredential | None:
        found = self._keychain.find(registry, repository)
        if found is None:
            raise CredentialError(f"the pull secret has no credentials for {registry}")
        return found


def read_pull_secret(data: SecretData) -> Keychain:
    """Raises `CredentialError`, which names members and never values."""
    if any(each in data for each in _DOCKER):
        return _Matching(read_docker_config(data))
    if data.get("token"):
        return OneCredential(RegistryCredential(registry_token=read_bearer(data).token))
    if data.get("username") and data.get("password"):
        return OneCredential(RegistryCredential(basic=read_basic(data)))
    raise CredentialError(
        'the pull secret has none of the accepted members: ".dockerconfigjson", "token", or "username" and "password"'
    )
