"""The secret stores that environment variables configure.

| store | available | keys |
|---|---|---|
| `env` | always | names of variables, without their prefix `HOMEOSTAT_SECRET_` |
| `file` | if `HOMEOSTAT_SECRETS` names a directory | paths below it |
| `vault` | if `VAULT_ADDR` is set (`vault/settings.py`) | `path`, or `path#field` |
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from homeostat.external.secrets.stores import EnvironmentStore, FileStore, SecretStore
from homeostat.external.vault.settings import vault_settings

SECRETS_DIRECTORY: Final = "HOMEOSTAT_SECRETS"


@asynccontextmanager
async def process_stores(environment: Mapping[str, str]) -> AsyncIterator[dict[str, SecretStore]]:
    """The stores are open inside the block."""
    stores: dict[str, SecretStore] = {"env": EnvironmentStore(environment)}
    if directory := environment.get(SECRETS_DIRECTORY):
        stores["file"] = FileStore(Path(directory))
    async with AsyncExitStack() as stack:
        if (settings := vault_settings(environment)) is not None:
            from homeostat.external.vault.client import Vault

            stores["vault"] = await stack.enter_async_context(Vault(settings))
        yield stores
