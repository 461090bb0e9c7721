"""Schema migrations: numbered SQL files that are applied once each, in order."""

from __future__ import annotations

from importlib import resources


def migrations(database: str) -> list[tuple[int, str]]:
    """The number and the SQL text of each migration of a database (a folder of `migrations`), in order."""
    folder = resources.files("homeostat.store") / "migrations" / database
    files = [each for each in folder.iterdir() if each.name.endswith(".sql")]
    return sorted((int(each.name.partition("_")[0]), each.read_text("utf-8")) for each in files)
