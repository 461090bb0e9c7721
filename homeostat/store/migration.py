"""Schema migrations: numbered SQL files that are applied once each, in order."""

from __future__ import annotations

from pathlib import Path

from homeostat import __version__
from homeostat.store.base import StoreError

_FOLDER = Path(__file__).parent / "migrations"


class OlderSchemaError(StoreError):
    """The start of a plane will migrate this database."""


def migrations(database: str) -> list[tuple[int, str]]:
    """The number and the SQL text of each migration of a database (a folder of `migrations`), in order."""
    files = (_FOLDER / database).glob("*.sql")
    return sorted((int(each.name.partition("_")[0]), each.read_text("utf-8")) for each in files)


def refusal_of_newer(database: str, version: int, newest: int) -> str:
    """The error for a database that a newer version of the program has migrated."""
    return (
        f"{database} has schema {version}, and this is homeostat {__version__}, which supports up to {newest}; "
        "use the version that migrated it, or restore a backup that was made before"
    )


def refusal_of_other(database: str, version: int, newest: int) -> StoreError:
    """The error of a command that reads a database and does not migrate it."""
    if version > newest:
        return StoreError(refusal_of_newer(database, version, newest))
    return OlderSchemaError(
        f"{database} has schema {version}, and this is homeostat {__version__}, which reads {newest}; use the version "
        "that serves it, or start the plane once with this version, which migrates it"
    )
