"""Schema migrations: numbered SQL files that are applied once each, in order."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent / "migrations"


def migrations(database: str) -> list[tuple[int, str]]:
    """The number and the SQL text of each migration of a database (a folder of `migrations`), in order."""
    files = (_FOLDER / database).glob("*.sql")
    return sorted((int(each.name.partition("_")[0]), each.read_text("utf-8")) for each in files)
