"""The databases that a backup may be made of or restored to: a file of SQLite, or a `postgresql://` URL."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from homeostat.edge.process.extras import install_command
from homeostat.store.backup.rows import Source, Target
from homeostat.store.base import StoreError
from homeostat.store.seal import Seal

Place = Path | str


def source_at(place: Place, *, is_exclusive: bool = False) -> AbstractAsyncContextManager[Source]:
    """`is_exclusive` refuses a database that a plane serves, and keeps planes from serving it while it is open."""
    if isinstance(place, Path):
        from homeostat.store.sqlite.transfer import SqliteSource

        return SqliteSource.open(place, is_exclusive=is_exclusive)
    _require_driver()
    from homeostat.store.postgres.transfer import PostgresSource

    return PostgresSource.open(place, is_exclusive=is_exclusive)


def target_at(place: Place, *, seal: Seal, now: float) -> AbstractAsyncContextManager[Target]:
    if isinstance(place, Path):
        from homeostat.store.sqlite.transfer import SqliteTarget

        return SqliteTarget.open(place, seal=seal, now=now)
    _require_driver()
    from homeostat.store.postgres.transfer import PostgresTarget

    return PostgresTarget.open(place, seal=seal)


def _require_driver() -> None:
    try:
        import asyncpg  # noqa: F401
    except ImportError as error:
        raise StoreError(f"PostgreSQL needs a driver; to install it: {install_command('postgres')}") from error
