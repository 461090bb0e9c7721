"""The secret stores of the process, by name: those of `external/process_stores.py`, and those of installed packages.

A package adds one by an entry point of the group `homeostat.secrets`, which is called with the environment.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from homeostat.external.process_stores import process_stores
from homeostat.external.secrets.stores import SecretStore
from homeostat.operators.actions.plugins.catalog import Catalog, discover


@asynccontextmanager
async def secret_stores(environment: Mapping[str, str]) -> AsyncIterator[dict[str, SecretStore]]:
    """The stores are open inside the block."""
    packages: Catalog[SecretStore] = discover("homeostat.secrets", environment)
    async with process_stores(environment) as stores:
        yield {**stores, **{name: packages.get(name) for name in packages}}
