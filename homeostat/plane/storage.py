"""Opens the store of a plane: a file of its own, or a database that replicas share.

Secrets are encrypted with the key in `seal.key`, which the first start creates. No other key decrypts them, so the key
is never recreated for an existing database. Replicas need the same key.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Protocol

from homeostat.plane.settings import Settings
from homeostat.server.pki.private_file import keep_private, read_private
from homeostat.store.base import Store, StoreError
from homeostat.store.counters import Counters

SEALED_RESOURCES = frozenset({"secrets", "*.homeostat.dev"})
"""Types and resources of `actions` may hold passwords and literal credentials of plugins."""


class PlaneStore(Store, Protocol):
    """A store with the figures and the maintenance that a plane needs."""

    @property
    def counters(self) -> Counters: ...
    @property
    def database_bytes(self) -> int: ...
    @property
    def trouble(self) -> str: ...
    async def maintain(self) -> None: ...


async def open_store(settings: Settings) -> PlaneStore:
    """`StoreError` if the store cannot be opened; it says what to do."""
    path = settings.data / "seal.key"
    if isinstance(settings.database, str):
        return await _open_shared(settings.database, path)
    from homeostat.store.sqlite import SqliteStore

    database = settings.database or settings.data / "homeostat.db"
    return await SqliteStore.open(database, sealed=SEALED_RESOURCES, key=_sealing_key(path, database))


async def _open_shared(url: str, path: Path) -> PlaneStore:
    try:
        from homeostat.store.postgres import PostgresStore
    except ImportError as error:
        from homeostat.edge.process.extras import install_command

        raise StoreError(f"PostgreSQL needs a driver; to install it: {install_command('postgres')}") from error
    # The database knows whether this is its key.
    key = read_private(path) or keep_private(path, secrets.token_bytes(32))
    return await PostgresStore.open(url, sealed=SEALED_RESOURCES, key=key)


def _sealing_key(path: Path, database: Path) -> bytes:
    key = read_private(path)
    if key is not None:
        return key
    if database.exists():
        raise StoreError(f'"{path}" is missing, but "{database}" is sealed with it; restore it')
    return keep_private(path, secrets.token_bytes(32))
