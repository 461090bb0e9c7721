"""Numbered files that bring a database's tables up to date: forward only, each once, in order."""

from __future__ import annotations

from importlib import resources


def migrations(database: str) -> list[tuple[int, str]]:
    """Number and text of each for a kind of database (a folder of `migrations`), in order."""
    folder = resources.files("homeostat.store") / "migrations" / database
    files = [each for each in folder.iterdir() if each.name.endswith(".sql")]
    return sorted((int(each.name.partition("_")[0]), each.read_text("utf-8")) for each in files)
