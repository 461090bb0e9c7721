"""Where secrets are kept: variables of the environment, files, a Vault, or Kubernetes Secrets.

| store | there when | keys |
|---|---|---|
| `env` | always | of variables whose names begin with `HOMEOSTAT_SECRET_`, without that |
| `file` | `HOMEOSTAT_SECRETS` names a directory | paths below it |
| `vault` | `VAULT_ADDR` is set (`external/vault/settings.py`) | `path`, or `path#field` |
| `secret` | for one namespace (`kubernetes.py`) | `name/key` |
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, Protocol

from homeostat.external.secrets.credentials import LARGEST_SECRET
from homeostat.external.vault.settings import vault_settings

ENV_PREFIX: Final = "HOMEOSTAT_SECRET_"
SECRETS_DIRECTORY: Final = "HOMEOSTAT_SECRETS"


class SecretStore(Protocol):
    async def get_secret(self, key: str) -> str:
        """`KeyError` if there is none, or if it is empty."""


class EnvironmentStore:
    """Variables of the operator's environment whose names begin with the prefix, and no others."""

    def __init__(self, environment: Mapping[str, str], prefix: str = ENV_PREFIX) -> None:
        self._environment, self._prefix = environment, prefix

    async def get_secret(self, key: str) -> str:
        return self._environment[f"{self._prefix}{key}"]


class FileStore:
    """Files below one directory, as Kubernetes mounts Secrets; one newline at the end does not count."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory.resolve()

    async def get_secret(self, key: str) -> str:
        path = (self._directory / key).resolve()
        if not path.is_relative_to(self._directory) or not path.is_file() or path.stat().st_size > LARGEST_SECRET:
            raise KeyError(key)
        return path.read_text().removesuffix("\n")


@asynccontextmanager
async def process_stores(environment: Mapping[str, str]) -> AsyncIterator[dict[str, SecretStore]]:
    """The stores that a process has by its environment; open as long as the block."""
    stores: dict[str, SecretStore] = {"env": EnvironmentStore(environment)}
    if directory := environment.get(SECRETS_DIRECTORY):
        stores["file"] = FileStore(Path(directory))
    async with AsyncExitStack() as stack:
        if (settings := vault_settings(environment)) is not None:
            from homeostat.external.vault.client import Vault

            stores["vault"] = await stack.enter_async_context(Vault(settings))
        yield stores
